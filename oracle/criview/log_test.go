package criview

import (
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestBroadcastsIn(t *testing.T) {
	for release, want := range map[string]bool{
		"v1.6.38": false, "v1.7.35": false, "v2.0.0": true, "v2.0.0-rc.1": true, "v2.4.2": true, "v2.4.2+unknown": true,
		"v2.5.0-beta.0": true, "abc": false, "": false,
	} {
		must.Equal(t, BroadcastsIn(release), want, release)
	}
}
