package affected

import (
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
	for _, c := range []struct {
		text, release string
		want          State
	}{
		{slowUmount, "v1.6.0", Bad},
		{slowUmount, "v1.6.23", Bad},
		{slowUmount, "v1.6.24", Free},
		{slowUmount, "v1.7.0-rc.1", Bad},
		{slowUmount, "v1.7.3", Bad},
		{slowUmount, "v1.7.4", Free},
		{slowUmount, "v1.5.18", Unknown}, // before the first named branch
		{slowUmount, "v2.4.2", Free},     // the branch before it has the fix
		{regressed, "v1.7.35", Free},
		{regressed, "v2.0.0", Bad},
		{regressed, "v2.0.99", Bad},
		{regressed, "v2.1.1", Free},
		{regressed, "v2.1.2", Bad},
		{regressed, "v2.2.0", Bad}, // the last release before it has it
		{regressed, "v2.3.7-3-gabcdef.m", Bad},
		{regressed, "v2.4.0", Free},
		{regressed, "v2.5.0", Free},
		{regressed, "main", Unknown},
		{halfLooked, "v1.7.27", Unknown},
		{halfLooked, "v1.7.35", Bad},
		{halfLooked, "v1.7.36", Bad},
		{halfLooked, "v2.0.14", Unknown},
		{halfLooked, "v2.1.9", Unknown}, // the branch before it is unknown
		{halfLooked, "v2.2.1", Free},
		{halfLooked, "v2.3.7", Unknown}, // 2.2 without the bug says nothing about 2.3
		{halfLooked, "v2.4.0", Unknown},
		{halfLooked, "v2.4.2", Bad},
		{halfLooked, "v2.4.4", Free},
		{candidates, "v2.0.0-beta.2", Free},
		{candidates, "v2.0.0-rc.0", Bad},
		{candidates, "v2.0.0-rc.1", Bad},
		{candidates, "v2.0.0-rc.2", Free},
		{candidates, "v2.0.0", Free},
		{candidates, "v2.0.14", Free},
		{candidates, "v2.1.0-rc.0", Free},
		{`"2.3": {bad: v2.3.7}`, "v9.0.0", Bad},
		{`"2.3": {absent: the code is not there}`, "v2.3.7", Free},
		{`"2.3": {absent: the code is not there}`, "v2.4.0", Unknown},
		{`"2.3": {since: v2.3.1, absent: the code came with it, bad: v2.3.7}`, "v2.3.0", Free},
	} {
		r := parse(t, c.text)
		must.Equal(t, r.Check(), nil, c.text)
		if got := r.StateOf(c.release); got != c.want || r.Applies(c.release) != (c.want == Bad) ||
			r.MayApply(c.release) != (c.want != Free) {
			t.Errorf("%s: %s: %v, want %v", c.text, c.release, got, c.want)
		}
	}
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
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                     {`{}`, "at least one branch"},
		"no branch":                   {`"2": {bad: v2.0.1}`, "expected a branch"},
		"a release of another branch": {`"2.3": {bad: v2.4.1}`, "is not a release of this branch"},
		"no release":                  {`"2.3": {bad: v2.3.x.y}`, "v2.3.x.y"},
		"a branch without a word":     {`"2.3": {}`, "expected one of seen"},
		"bad and held":                {`"2.3": {bad: v2.3.1, held: v2.3.1}`, "do not have the bug"},
		"fixed before it was bad":     {`"2.3": {bad: v2.3.7, fixed: v2.3.6}`, "since"},
		"bad before it came":          {`"2.3": {since: v2.3.7, bad: v2.3.6}`, "since"},
		"since, and nobody looked":    {`"2.3": {since: v2.3.7, bad: v2.3.7}`, "seen: v2.3.7"},
		"since, of a longer range":    {`"2.3": {since: v2.3.1, bad: v2.3.7}`, "seen: v2.3.1"},
		"held after it came":          {`"2.3": {since: v2.3.1, held: v2.3.2, bad: v2.3.7}`, "held v2.3.2 < since v2.3.1"},
		"since and seen":              {`"2.3": {since: v2.3.1, seen: v2.3.2, held: v2.3.0, bad: v2.3.7}`, "have both"},
		"seen and held":               {`"2.3": {seen: v2.3.1, held: v2.3.0}`, "do not have the bug"},
		"seen after it was bad":       {`"2.3": {seen: v2.3.7, bad: v2.3.6}`, "expected since or seen"},
		"fixed before it was seen":    {`"2.3": {seen: v2.3.7, fixed: v2.3.6}`, "expected since or seen"},
		"unknown, and bad":            {`"2.3": {unknown: x, bad: v2.3.6}`, "no other key"},
		"since, and never bad":        {`"2.3": {since: v2.3.7, held: v2.3.7}`, "add bad"},
	} {
		must.FailWith(t, parse(t, c.text).Check(), c.want, name)
	}
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
