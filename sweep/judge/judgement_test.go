package judge

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/sweep"
)

func TestJudgement(t *testing.T) {
	for name, tt := range map[string]struct {
		judgement Judgement
		found     bool
		says      string
	}{
		"blind":   {Judgement{ID: "m", Cases: 7}, false, "NOT FOUND m"},
		"plain":   {Judgement{ID: "m", Plain: true}, true, "without a fault"},
		"finding": {Judgement{ID: "m", Cases: 7, New: []sweep.Group{{Name: "shim-x", Cases: 3}}}, true, "by 7 cases: shim-x (3)"},
		"window":  {Judgement{ID: "m", Wider: &sweep.Spec{Point: "p", Action: "crash"}}, true, "where it is not: p crash"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join(strings.Fields(tt.judgement.String()), " ")
			if tt.judgement.Found() != tt.found || !strings.Contains(text, tt.says) {
				t.Errorf("found %v, says %q; want %v and %q", tt.judgement.Found(), text, tt.found, tt.says)
			}
		})
	}
}

func TestUnlike(t *testing.T) {
	shim := sweep.Signature{Invariant: oracle.Leak, Class: oracle.ClassShim}
	bundle := sweep.Signature{Invariant: oracle.Leak, Class: oracle.ClassBundle}
	group := func(name string, left ...sweep.Signature) sweep.Group { return sweep.Group{Name: name, Left: left} }
	for name, tt := range map[string]struct {
		some, others []sweep.Group
		want         int
	}{
		"nothing":              {nil, []sweep.Group{group("a", shim)}, 0},
		"the same elsewhere":   {[]sweep.Group{group("a", shim)}, []sweep.Group{group("b", shim)}, 0},
		"more than the others": {[]sweep.Group{group("a", shim, bundle)}, []sweep.Group{group("a", shim)}, 1},
		"something else":       {[]sweep.Group{group("a", shim), group("b", bundle)}, []sweep.Group{group("a", shim)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unlike(tt.some, tt.others); len(got) != tt.want {
				t.Errorf("got %v, want %d", got, tt.want)
			}
		})
	}
}
