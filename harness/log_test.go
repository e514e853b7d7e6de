package harness

import (
	"reflect"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/event"
)

// Each list of a Log, and each list of CRISeen that its own JSON form lacks, is in the
// log of the JSON form.
func TestEachListIsInTheLog(t *testing.T) {
	h, lists := History{CRI: &CRISeen{}}, 0
	one := func(v reflect.Value) {
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		lists++
	}
	for _, v := range reflect.ValueOf(&h.Log).Elem().Fields() {
		one(v)
	}
	for f, v := range reflect.ValueOf(h.CRI).Elem().Fields() {
		if f.Tag.Get("json") == "-" {
			one(v)
		}
	}
	kinds := map[string]bool{}
	for _, r := range h.Records() {
		for f, v := range reflect.ValueOf(r).Fields() {
			if !v.IsNil() {
				kinds[f.Name] = true
			}
		}
	}
	must.Equal(t, len(kinds), lists)
	must.Equal(t, reflect.TypeFor[Record]().NumField(), lists)
}

// The records are in the order of time. The entries of a kind keep their order, although
// a probe may send a hit late.
func TestTheLogIsInOrder(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	h := History{Log: Log{
		Calls:    []Call{{Verb: "create", At: at(1), Took: 3 * time.Second}, {Verb: "start", At: at(5)}},
		Events:   []event.Task{{Topic: "create", Seen: at(3)}, {Topic: "start", Seen: at(6)}},
		Hits:     []failpoints.Hit{{Who: "shim", Time: at(5)}, {Who: "containerd", Time: at(2)}},
		Outlived: []Outlived{{Name: "sleep"}},
	}}
	var order []string
	for _, r := range h.Records() {
		switch {
		case r.Call != nil:
			order = append(order, "call "+r.Call.Verb)
		case r.Event != nil:
			order = append(order, "event "+r.Event.Topic)
		case r.Hit != nil:
			order = append(order, "hit of "+r.Hit.Who)
		case r.Outlived != nil:
			order = append(order, "outlived")
		}
	}
	must.Equal(t, order, []string{"event create", "call create", "call start", "hit of shim",
		"hit of containerd", "event start", "outlived"})
}
