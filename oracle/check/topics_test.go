package check

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
)

// A topic must be known to package fact, or it cannot be matched.
func TestEveryTopicIsAValueOfItsFact(t *testing.T) {
	topics := append([]string{
		event.TopicCreate, event.TopicStart, event.TopicExit, event.TopicDelete, event.TopicPaused, event.TopicResumed,
		event.TopicExecAdded, event.TopicExecStart, event.TopicOOM,
	}, criview.EventTypes...)
	if known := fact.Topic.Values(); !slices.Equal(known, topics) {
		t.Errorf("topics are\n%q,\nvalues are\n%q", topics, known)
	}
}
