package affected

import (
	"cmp"
	"fmt"

	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/must"
)

func parse(t *testing.T, text string) (r Releases) {
	t.Helper()
	must.Succeed(t, yaml.UnmarshalWithOptions([]byte(text), &r, yaml.Strict()))
	return r
}

const slowUmount = `
"1.6": {bad: v1.6.23, fixed: v1.6.24}
"1.7": {bad: v1.7.3, fixed: v1.7.4}
`

// regressed is a bug that 1.7 does not have. It is in 2.0, and in 2.1 since the third
// release. 2.4 has the fix.
const regressed = `
"1.7": {held: v1.7.35}
"2.0": {bad: v2.0.14}
"2.1": {since: v2.1.2, held: v2.1.1, bad: v2.1.9}
"2.4": {fixed: v2.4.0}
`

// halfLooked is a bug that was tested on the newest releases of three branches. No case
// can show it on 2.0.
const halfLooked = `
"1.7": {seen: v1.7.35}
"2.0": {unknown: its case does not come there}
"2.2": {held: v2.2.9}
"2.4": {seen: v2.4.1, bad: v2.4.2, fixed: v2.4.4}
`

// candidates is a bug of the first two release candidates only.
const candidates = `
"2.0": {since: v2.0.0-rc.0, absent: the code came with it, bad: v2.0.0-rc.1, fixed: v2.0.0-rc.2}
`

func TestEnds(t *testing.T) {
	for text, want := range map[string]string{
		slowUmount:             "v1.6.23 v1.6.24 v1.7.3 v1.7.4",
		regressed:              "v2.1.1 v2.1.2 v2.1.9 v2.4.0", // 2.4 has the fix, and 2.1 was the last branch with the bug
		halfLooked:             "v2.4.2 v2.4.4",
		`"2.3": {bad: v2.3.7}`: "v2.3.7",
		`"2.3": {absent: why}
"2.4": {since: v2.4.1, absent: why, bad: v2.4.2}`: "v2.4.1 v2.4.2",
		`"2.4": {held: v2.4.2}`: "",
	} {
		must.Equal(t, strings.Join(parse(t, text).Ends(), " "), want, text)
	}
}

func TestOf(t *testing.T) {
	bugs := map[string]string{"slowUmount": slowUmount, "regressed": regressed, "halfLooked": halfLooked,
		"candidates": candidates}
	must.Table(t, "testdata/states.txt", func(in string) string {
		release, bug, _ := strings.Cut(in, " of ")
		r := parse(t, cmp.Or(bugs[bug], bug))
		must.Equal(t, r.Check(), nil, in)
		state := r.StateOf(release)
		if r.Applies(release) != (state == Bad) || r.MayApply(release) != (state != Free) {
			t.Errorf("%s: %v, applies %v, may apply %v", in, state, r.Applies(release), r.MayApply(release))
		}
		return map[State]string{Unknown: "unknown", Free: "free", Bad: "bad"}[state]
	})
}

func TestUnreached(t *testing.T) {
	r := parse(t, halfLooked)
	for release, want := range map[string]bool{
		"v2.0.14": true, "v1.7.27": false, "v2.2.9": false, "v2.4.2": false, "main": false,
	} {
		must.Equal(t, r.Unreached(release), want, release)
	}
}

func TestAnswers(t *testing.T) {
	r := parse(t, slowUmount)
	if r["1.7"].Last() != "v1.7.3" || r["1.7"].Fixed != "v1.7.4" || r["2.4"].Last() != "" || r.Open() {
		t.Errorf("%+v", r)
	}
	must.Equal(t, r.String(), "1.6: v1.6.23, fixed in v1.6.24; 1.7: v1.7.3, fixed in v1.7.4")
	if got, want := parse(t, halfLooked).String(), "1.7: v1.7.35 (no earlier one was tested); "+
		"2.4: v2.4.1..v2.4.2 (no earlier one was tested), fixed in v2.4.4"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if r := parse(t, `{"1.10": {bad: v1.10.1}, "1.9": {held: v1.9.1}}`); !r.Open() || r.Branches()[0] != "1.9" {
		t.Errorf("%v is not in the order of its versions", r.Branches())
	}
}

func TestCheckRefuses(t *testing.T) {
	must.Table(t, "testdata/refused.txt", func(text string) string { return fmt.Sprint(parse(t, text).Check()) })
}

func FuzzCheck(f *testing.F) {
	f.Add(slowUmount, "v1.6.1")
	f.Add(regressed, "v2.4.0")
	f.Add(halfLooked, "v1.7.27")
	f.Fuzz(func(t *testing.T, text, release string) {
		var r Releases
		if yaml.Unmarshal([]byte(text), &r) != nil || r.Check() != nil {
			return
		}
		if r.Applies(release) && !slices.ContainsFunc(r.Branches(), func(b string) bool { return r[b].Has() }) {
			t.Errorf("%q: %s has the bug, and no branch has it", text, release)
		}
	})
}

func TestFirstFixedIsOfTheOwnBranchOrTheNext(t *testing.T) {
	rs := Releases{
		"1.6": {Bad: "v1.6.23", Fixed: "v1.6.24"}, "1.7": {Bad: "v1.7.35"}, "2.0": {Bad: "v2.0.14"},
		"2.1": {Held: "v2.1.9"}, "2.4": {Bad: "v2.4.2"},
	}
	for release, want := range map[string]string{
		"v1.6.8": "v1.6.24", "v1.7.2": "v2.1.9", "v2.4.1": "", "v2.5.0": "", "src:x": "", "": "",
	} {
		if got := rs.FirstFixed(release); got != want {
			t.Errorf("%q: fixed in %q, want %q", release, got, want)
		}
	}
}
