package exit

import (
	"testing"

	"github.com/shimquake/shimquake/oracle/event"
)

func TestOfEvents(t *testing.T) {
	reported := OfEvents([]event.Task{{Topic: event.TopicCreate}, {Topic: event.TopicStart}, {Topic: event.TopicExit},
		{Topic: event.TopicDelete}})
	if len(reported) != 2 || reported[0].Observer != ByTaskExit || reported[1].Observer != ByTaskDelete {
		t.Errorf("reported: %v", reported)
	}
}
