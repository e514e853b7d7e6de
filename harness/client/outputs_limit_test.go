package client

import (
	"testing"

	"github.com/shimquake/shimquake/must"
)

// A program of the world writes without end. The reader drops the rest and reads on.
func TestAnOutputWithoutEndIsBounded(t *testing.T) {
	b := &buffer{}
	p := make([]byte, MaxOutput/2+1)
	for range 3 {
		if n, err := b.Write(p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	must.Equal(t, b.b.Len(), MaxOutput, "bytes are kept")
}
