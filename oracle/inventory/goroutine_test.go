package inventory

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
)

const profile = `goroutine profile: total 7
3 @ 0x43ddee 0x44e4d4 0x8f2f65
# labels: {"request":"7"}
#	0x8f2f64	github.com/containerd/ttrpc.(*Client).dispatch+0x1e4					/m/ttrpc/client.go:361
#	0x9a	github.com/containerd/containerd/api/runtime/task/v3.(*ttrpctaskClient).Delete+0x9	/m/api/shim_ttrpc.pb.go:9
#	0x9b	github.com/containerd/containerd/v2/core/runtime/v2.(*shimTask).delete.func1+0x9	/m/core/runtime/v2/shim.go:9
#	0x9c	google.golang.org/grpc.(*Server).serveStreams.func2.1+0x9				/m/grpc/server.go:1

1 @ 0x43ddee 0x44e4d5
#	0x9b	github.com/containerd/containerd/v2/core/runtime/v2.(*shimTask).delete+0x19	/m/core/runtime/v2/shim.go:7
#	0x9d	main.main+0x3b									/m/main.go:32

2 @ 0x49bdc1
#	0x49bdc0	net/http.(*conn).serve.gowrap3+0x0	/usr/lib/go/src/net/http/server.go:1

1 @ 0x47c7a0
#	0x47c7a0
`

func TestParseGoroutines(t *testing.T) {
	got := must.Get(parseGoroutines(strings.NewReader(profile)))(t)
	const deletes = "core/runtime/v2.(*shimTask).delete"
	want := []Held{
		{fact.AGoroutine, deletes, "google.golang.org/grpc.(*Server).serveStreams", 3,
			"github.com/containerd/ttrpc.(*Client).dispatch < api/runtime/task/v3.(*ttrpctaskClient).Delete < v2/" + deletes +
				".func1 < google.golang.org/grpc.(*Server).serveStreams.func2.1"},
		{fact.AGoroutine, deletes, "main.main", 1, "v2/" + deletes + " < main.main"},
		{fact.AGoroutine, "net/http.(*conn).serve", "net/http.(*conn).serve", 2, "net/http.(*conn).serve.gowrap3"},
	}
	must.Equal(t, got.held, want)
	must.Equal(t, got.nameless, 1)
	for _, bad := range []string{
		"", "404 page not found", strings.Replace(profile, "total 7", "total x", 1),
		strings.Replace(profile, "total 7", "total 8", 1), strings.Replace(profile, "\n2 @", "\nx @", 1),
	} {
		must.Fail(t, must.ErrorOf(parseGoroutines(strings.NewReader(bad))), cut(bad), "is a profile of")
	}
}

// parseGoroutines can parse a profile of the present Go.
func TestParseOwnGoroutines(t *testing.T) {
	count := func() int {
		var text bytes.Buffer
		must.Succeed(t, pprof.Lookup("goroutine").WriteTo(&text, 1))
		all := must.Get(parseGoroutines(&text))(t)
		n := 0
		for _, h := range all.held {
			if h.Kind == fact.AGoroutine && h.Root == ownModule+"waitForClose" {
				n += h.Count
			}
		}
		return n
	}
	before, begun, end := count(), make(chan bool), make(chan bool)
	defer close(end)
	go waitForClose(begun, end)
	<-begun
	must.Equal(t, count(), before+1, "goroutines")
}

const ownModule = "github.com/shimquake/shimquake/oracle/inventory."

func waitForClose(begun, end chan bool) {
	begun <- true
	<-end
}

// The goroutine of the request itself may not have begun either.
func TestNotBegun(t *testing.T) {
	look := []Held{{Kind: fact.AGoroutine, Of: lookItself, Root: lookItself, Count: 1}}
	for _, tc := range []struct {
		g    goroutines
		want int
	}{
		{goroutines{look, 0}, 0}, {goroutines{look, 1}, 1},
		{goroutines{nil, 0}, 0}, {goroutines{nil, 1}, 0}, {goroutines{nil, 2}, 1},
	} {
		must.Equal(t, tc.g.notBegun(), tc.want, tc.g)
	}
}

// The goroutines are returned only when all of them have begun.
func TestGoroutinesThatHaveNotBegunAreAwaited(t *testing.T) {
	asked := 0
	late := strings.Replace(strings.Replace(profile, "total 7", "total 8", 1), "1 @ 0x47c7a0", "2 @ 0x47c7a0", 1)
	s := Scene{Profile: func(context.Context) ([]byte, error) {
		if asked++; asked < 3 {
			return []byte(late), nil
		}
		return []byte(profile), nil
	}}
	if got, err := askGoroutines(t.Context(), s); err != nil || len(got) != 3 || asked != 3 {
		t.Errorf("asked %d times: %v, %v", asked, got, err)
	}
}

func TestShort(t *testing.T) { must.Table(t, "testdata/functions.txt", short) }

func FuzzParseGoroutines(f *testing.F) {
	f.Add(profile)
	f.Add("goroutine profile: total 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseGoroutines(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, h := range all.held {
			if h.Count < 1 || h.Kind != fact.AGoroutine {
				t.Errorf("%+v in %q", h, text)
			}
		}
	})
}
