package catalogue

import (
	"errors"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/spelling"
)

func TestCasesSurviveTheirTextForm(t *testing.T) {
	for _, c := range Cases() {
		again := must.Get(harness.ParseCase(c.Name, []byte(c.String())))(t)
		must.Equal(t, again.String(), c.String(), c, "reads back as")
	}
}

func TestFindSuggests(t *testing.T) {
	_, err := Find("shutdown-eror-once")
	var unknown *spelling.UnknownError
	if !errors.As(err, &unknown) || unknown.Nearest != "shutdown-error-once" {
		t.Errorf("%v, want a suggestion", err)
	}
	var input *harness.InputError
	if _, err := Find("no/such.yaml"); !errors.As(err, &input) {
		t.Errorf("%v, want an *InputError", err)
	}
}
