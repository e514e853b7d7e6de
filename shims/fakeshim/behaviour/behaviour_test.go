package behaviour

import (
	"fmt"

	"errors"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestParse(t *testing.T) {
	must.Table(t, "../../testdata/behaviours.txt", func(list string) string {
		b, err := Parse(list)
		if err != nil {
			must.Is(t, err, ErrWord, list)
			return err.Error()
		}
		return fmt.Sprintf("%+v", b)
	})
}

func TestStatus(t *testing.T) {
	b := must.Get(Parse("event=99"))(t)
	if b.Status(InEvent, 7) != 99 || b.Status(InWait, 7) != 7 {
		t.Errorf("in event %d, in wait %d; want 99 and 7", b.Status(InEvent, 7), b.Status(InWait, 7))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("bootstrap=garbage,shutdown=ignore,exit=99,events=none,start=late(500ms)")
	f.Add("start=hang,cleanup=late(1h),sigterm=ignore,socket=leave,wait=1,delete=2,state=3,event=4,cleanup-exit=5")
	f.Add(Join("", "events=twice", " "))
	f.Fuzz(func(t *testing.T, list string) {
		if _, err := Parse(list); err != nil && !errors.Is(err, ErrWord) {
			t.Fatal(err)
		}
	})
}
