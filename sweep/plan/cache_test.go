package plan

import (
	"encoding/json"
	"os"
	"testing"
)

// A plan is made once for the same options. Another name of the same binaries is no
// reason to make it again.
func TestAPlanIsKept(t *testing.T) {
	o := Options{Cache: t.TempDir(), Containerd: "v2.4.2"}
	if _, ok := o.cached(); ok {
		t.Fatal("an empty cache has a plan")
	}
	p, err := New(o, traced())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err == nil {
		err = o.keep(o.planFile(), text)
	}
	if err != nil {
		t.Fatal(err)
	}
	if back, ok := o.cached(); !ok || back.Digest != p.Digest {
		t.Errorf("%s, want %s", back.Digest, p.Digest)
	}
	o.Containerd = "src:x"
	if back, ok := o.cached(); !ok || back.Containerd != o.Containerd || back.Check("x") != nil {
		t.Errorf("of another name: %v, %v", back.Containerd, back.Check("x"))
	}
	other, fresh := o, o
	other.Hits, fresh.Fresh = "all", true
	for _, o := range []Options{other, fresh} {
		if _, ok := o.cached(); ok {
			t.Errorf("%s has the plan of %s (fresh %v)", o, Options{}, o.Fresh)
		}
	}
	if err := os.Truncate(o.planFile(), 100); err != nil {
		t.Fatal(err)
	}
	if _, ok := o.cached(); ok {
		t.Error("a plan without an end was read")
	}
}
