package client

import "testing"

// A program of the world writes without end. The reader drops the rest and reads on.
func TestAnOutputWithoutEndIsBounded(t *testing.T) {
	b := &buffer{}
	p := make([]byte, MaxOutput/2+1)
	for range 3 {
		if n, err := b.Write(p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	if n := b.b.Len(); n != MaxOutput {
		t.Errorf("%d bytes are kept, want %d", n, MaxOutput)
	}
}
