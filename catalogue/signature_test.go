package catalogue

import (
	"bytes"
	"slices"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestSignaturesAreWrittenInOrder(t *testing.T) {
	of := func(bug, release string, keys ...string) Signature { return Signature{bug, release, keys} }
	var text bytes.Buffer
	must.Succeed(t, WriteSignatures(&text, []Signature{
		of("b", "v1.7.10", "old"), of("b", "v1.7.9"), of("a", "v2.0.0"), of("b", "v1.7.10", "log x")}))
	got, err := ReadSignatures(&text)
	want := []Signature{of("a", "v2.0.0"), of("b", "v1.7.9"), of("b", "v1.7.10", "log x")}
	if err != nil || !slices.EqualFunc(got, want, func(a, b Signature) bool {
		return a.Bug == b.Bug && a.Release == b.Release && slices.Equal(a.Keys, b.Keys)
	}) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	must.Fail(t, must.ErrorOf(ReadSignatures(bytes.NewReader([]byte(`{"bug":`)))), "half a line is read")
}

// Each signature belongs to a bug of the catalogue, and to a release that may have it.
func TestSignaturesAreOfBugs(t *testing.T) {
	for id, all := range signatures() {
		b, err := FindBug(id)
		if err != nil {
			t.Errorf("a signature is of %s: %v", id, err)
			continue
		}
		for _, s := range all {
			if !b.Releases.MayApply(s.Release) {
				t.Errorf("%s is not on %s, where it has a signature", id, s.Release)
			}
		}
	}
}

// The signature of this bug has the error "task %s: %w", which nearly any line matches.
func TestRarestKeysAreLongEnoughToSearchFor(t *testing.T) {
	b := must.Get(FindBug("client-cannot-retry-delete"))(t)
	const short, long = "error task %s: %w", "error failed to invoke shutdown: %w"
	if all := b.Logs(""); !slices.Contains(all, short) || !slices.Contains(all, long) {
		t.Fatalf("the signature changed: %q", all)
	}
	if keys := b.RarestKeys(100); slices.Contains(keys, short) || !slices.Contains(keys, long) {
		t.Errorf("%q, want %q and not %q", keys, long, short)
	}
}
