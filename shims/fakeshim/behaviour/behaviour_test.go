package behaviour

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shimquake/shimquake/must"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		list string
		want Behaviour
		bad  string // part of the error
	}{
		{list: "", want: Behaviour{}},
		{list: " ", want: Behaviour{}},
		{list: "bootstrap=garbage, shutdown=ignore ,events=none",
			want: Behaviour{Bootstrap: Garbage, Shutdown: "ignore", Events: EventsNone}},
		{list: "start=hang", want: Behaviour{Start: Act{Name: Hang}}},
		{list: "start=late(500ms),cleanup=fail", want: Behaviour{Start: Act{Name: Late, For: 500 * time.Millisecond},
			Cleanup: Act{Name: Fail}}},
		{list: "start=hang,start=refuse", want: Behaviour{Start: Act{Name: Refuse}}},
		{list: "exit=99,wait=7", want: Behaviour{Exit: map[Report]uint32{InWait: 7, InDelete: 99, InState: 99, InEvent: 99,
			InCleanup: 99}}},
		{list: "event=255", want: Behaviour{Exit: map[Report]uint32{InEvent: 255}}},
		{list: "sigterm=ignore,socket=leave", want: Behaviour{SIGTERM: "ignore", Socket: "leave"}},

		{list: "sleepy", bad: "want key=value"},
		{list: "exit=99,", bad: "want key=value"},
		{list: "colour=red", bad: `unknown key "colour"`},
		{list: "bootstrap=nonsense", bad: "want bootstrap=garbage|empty|old|future|nowhere"},
		{list: "bootstrap=garbage(1s)", bad: "unknown value"},
		{list: "start=late", bad: "late needs a duration"},
		{list: "start=late(soon)", bad: "late needs a duration"},
		{list: "start=late(1s", bad: "late needs a duration"},
		{list: "cleanup=refuse", bad: "want cleanup=hang|late|fail"},
		{list: "exit=-1", bad: "a number from 0 to"},
	} {
		t.Run(tc.list, func(t *testing.T) {
			got, err := Parse(tc.list)
			if tc.bad != "" {
				if !errors.Is(err, ErrWord) || !strings.Contains(err.Error(), tc.bad) {
					t.Errorf("Parse = %v, want ErrWord with %q", err, tc.bad)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("Parse: %v (-want +got)\n%s", err, diff)
			}
		})
	}
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
