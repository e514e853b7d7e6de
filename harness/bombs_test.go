package harness

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// repeated is an endless text.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at%len(r.text)]
		r.at++
	}
	return len(p), nil
}

// A history that would exhaust the machine's memory is refused, and the error names the
// limit.
func TestHistoriesAreBounded(t *testing.T) {
	many := func(n int, text string) io.Reader { return io.LimitReader(&repeated{text: text}, int64(n*len(text))) }
	after := func(head string, then io.Reader, end ...string) io.Reader {
		return io.MultiReader(strings.NewReader(head), then, strings.NewReader(strings.Join(end, "")))
	}
	const head = `{"shimquake":"history","format":6,"digest":"x","verdict":{},"history":{"case":{"name":"x"},`
	for name, tt := range map[string]struct {
		from io.Reader
		says string
	}{
		"without an end": {&repeated{text: "["}, "max depth"},
		"a string":       {after(head+`"containerd":"`, &repeated{text: "x"}), "larger than 64 MiB"},
		"spaces":         {&repeated{text: " "}, "larger than 64 MiB"},
		"calls":          {after(head+`"calls":[{}`, many(3_000_000, ",{}"), "]}}"), "1000000 values"},
		"hits":           {after(head+`"hits":[{}`, many(1_000_000, ",{}"), "]}}"), "1000000 values"},
		"a log": {after(head+`"log":[{}`, many(950_000, ",{}"), "]}}"),
			"has 950001 entries in log, and at most 100000"},
		"instances": {after(head+`"instances":[{}`, many(52_574, ",{}"), "]}}"),
			"has 52575 entries in instances, and at most 20000"},
		"kills": {after(head+`"kills":[ {}`, many(950_000, ",{}"), "]}}"),
			"has 950001 entries in kills, and at most 20000"},
		"a list in each": {after(head+`"calls":[{"x":[1,2]}`, many(10_000, `,{"x":[1,2]}`), "]}}"),
			"has 20002 entries in x, and at most 20000"},
		"empty lists": {after(head+`"calls":[{"x":[]}`, many(6_000, `,{"x":[]}`), "]}}"), "was changed"},
		"quoted":      {after(head+`"calls":["[,\"`, many(6_000, `,\"[`), `"]}}`), "was changed"},
		"levels":      {after(head+`"x":`, many(20_000, "["), strings.Repeat("]", 20_000)+"}}"), "max depth"},
		"findings":    {after(`{"verdict":{"findings":[{}`, many(2_000_000, ",{}"), "]}}"), "1000000 values"},
		"a case of brackets": {strings.NewReader(edited(t, HistoryFormat, `{"case":{"name":"x","about":`+
			strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}}`, `{}`)), "64 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := EachKept("x.json", tt.from, func(Kept) error { return nil })
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%.300v; want %q", err, tt.says)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 512 {
				t.Errorf("EachKept allocated %d MiB", took)
			}
		})
	}
}

// A compressed history may be a thousand times as long as its file.
func TestUnpackIsBounded(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	must.Get(io.Copy(z, io.LimitReader(&repeated{text: "x"}, MaxHistory+1)))(t)
	must.Succeed(t, z.Close())
	_, err := Unpack(bytes.NewReader(b.Bytes()), "x", Part{Len: int64(b.Len())})
	var in *InputError
	if !errors.As(err, &in) || !strings.Contains(fmt.Sprint(err), "larger than 64 MiB") {
		t.Errorf("%.300v", err)
	}
	_, err = Unpack(bytes.NewReader(b.Bytes()), "x", Part{Len: int64(b.Len()) / 2})
	if err == nil || !strings.Contains(err.Error(), "incomplete") {
		t.Errorf("%.300v", err)
	}
}
