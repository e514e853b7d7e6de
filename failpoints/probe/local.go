package probe

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// local decides without a controller: each process counts its own hits.
type local struct {
	mu    sync.Mutex
	terms map[string]term.Term
	hits  map[string]int
}

func newLocal(texts map[string]string) *local {
	l := &local{terms: map[string]term.Term{}, hits: map[string]int{}}
	for point, text := range texts {
		t, err := term.Parse(text)
		if err == nil && pauses(t) {
			err = fmt.Errorf("pause needs a controller that can release it (%s)", SocketEnv)
		}
		if err != nil {
			// A test would pass without proof if the process ran without the requested
			// fault.
			fmt.Fprintf(os.Stderr, "shimquake: %s: %v\n", point, err)
			os.Exit(2)
		}
		l.terms[point] = t
	}
	return l
}

func (l *local) seen(Hit) {}

func pauses(t term.Term) bool {
	for _, c := range t.Clauses() {
		if c.Action == term.Pause {
			return true
		}
	}
	return false
}

func (l *local) begin() {
	points := map[string]bool{}
	for p := range l.terms {
		points[p] = true
	}
	armStatements(points, false, false)
}

func (l *local) armed(point string) bool {
	_, ok := l.terms[point]
	return ok
}

func (l *local) ask(h Hit) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.terms[h.Point]
	if strings.HasPrefix(h.Point, "stmt:") && !DecidedAt(t, h) {
		return Decision{}
	}
	l.hits[h.Point]++
	c := t.At(l.hits[h.Point])
	return Decision{Do: string(c.Action), Arg: c.Arg}
}

// fromEnvironment reads SHIMQUAKE_FAILPOINTS.
func fromEnvironment() map[string]string {
	terms := map[string]string{}
	for _, part := range strings.Split(os.Getenv(FailpointsEnv), ";") {
		if point, text, ok := strings.Cut(part, "="); ok {
			terms[strings.TrimSpace(point)] = strings.TrimSpace(text)
		}
	}
	return terms
}

// fromBundle reads the annotations of an OCI specification; a shim is started in its
// bundle. A missing file means no faults: the short-lived helpers of a shim are started
// elsewhere.
func fromBundle(path string) map[string]string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var spec struct {
		Annotations map[string]string `json:"annotations"`
	}
	if json.Unmarshal(data, &spec) != nil {
		return nil
	}
	terms := map[string]string{}
	for key, text := range spec.Annotations {
		if point, ok := strings.CutPrefix(key, AnnotationPrefix); ok {
			terms[point] = text
		}
	}
	return terms
}
