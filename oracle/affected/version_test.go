package affected

import (
	"testing"

	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/must"
)

func TestSemantic(t *testing.T) {
	for reported, want := range map[string]string{
		"1.6.20~ds1": "v1.6.20+ds1", "v2.4.2": "v2.4.2", "1.7.28-0ubuntu1~24.04.1": "v1.7.28+0ubuntu1.24.04.1",
		"v1.7.23-k3s2": "v1.7.23+k3s2", "v2.0.0-rc.3": "v2.0.0-rc.3", "v2.0.0-rc.3-12-gab": "v2.0.0-rc.3+12-gab",
		"v2.4.2+unknown": "v2.4.2+unknown", "1.6.20~": "v1.6.20", "2.1.0-é~x": "v2.1.0+x", "trunk": "vtrunk",
	} {
		got := Semantic(reported)
		if got != want || want != "vtrunk" && !semver.IsValid(got) {
			t.Errorf("%q is %q, valid %v; want %q", reported, got, semver.IsValid(got), want)
		}
	}
}

// A vendor's version has the bugs of its release.
func TestVendorsReleaseApplies(t *testing.T) {
	rs := Releases{"1.6": {Bad: "v1.6.23", Fixed: "v1.6.24"}, "1.7": {Absent: "x"}}
	for release, want := range map[string]bool{
		"v1.6.20~ds1": true, "1.6.24~ds1": false, "1.6.23-0ubuntu1~22.04.1": true,
	} {
		must.Equal(t, rs.Applies(release), want, release, "has it")
	}
	if !rs.Unreached("1.7.28-0ubuntu1~24.04.1") {
		t.Error("a vendor's 1.7 is of the branch 1.7")
	}
}
