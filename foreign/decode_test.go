package foreign_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/must"
)

func TestReaderHasALimit(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int64
		long bool
	}{{"", 0, false}, {"x", 0, true}, {"12345", 5, false}, {"123456", 5, true}, {strings.Repeat("x", 1<<20), 5, true}} {
		for name, from := range map[string]io.Reader{
			"mark once": strings.NewReader(tt.text), "by bytes": iotest.OneByteReader(strings.NewReader(tt.text)),
			"with the end": iotest.DataErrReader(strings.NewReader(tt.text)),
		} {
			got, err := io.ReadAll(foreign.NewReader("the text", from, tt.most))
			var long *foreign.LimitError
			if errors.As(err, &long) != tt.long || int64(len(got)) > tt.most || !tt.long && string(got) != tt.text {
				t.Errorf("%.10q of %d %s: %.10q, %v", tt.text, tt.most, name, got, err)
			}
		}
	}
	r := foreign.NewReader("the text", strings.NewReader("12345678"), 4)
	for range 2 {
		r.ResetLimit()
		must.Equal(t, must.Get(io.ReadFull(r, make([]byte, 4)))(t), 4)
	}
}

func TestReadLine(t *testing.T) {
	text := strings.Repeat("a", 10_000) + "\nb\n\nend"
	r := bufio.NewReader(strings.NewReader(text))
	var got []string
	for {
		line, err := foreign.ReadLine(r, 10_001)
		got = append(got, string(line))
		if err != nil {
			must.Is(t, err, io.EOF)
			break
		}
	}
	must.Equal(t, strings.Join(got, ""), text, "lines")
	must.Len(t, got, 4, "lines")
	var long *foreign.LimitError
	if _, err := foreign.ReadLine(bufio.NewReader(strings.NewReader(text)), 10_000); !errors.As(err, &long) {
		t.Error(err)
	}
	endless := bufio.NewReader(iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 1<<20))))
	if _, err := foreign.ReadLine(endless, 1<<10); !errors.As(err, &long) {
		t.Error(err)
	}
}

func TestCheckJSON(t *testing.T) {
	for text, long := range map[string]bool{
		`[1,2]`: false, `[1,2,3]`: false, `[1,2,3,4]`: true, `{"a":[1,2],"b":[3,4]}`: true,
	} {
		if err := foreign.CheckJSON("it", []byte(text), 3); (err != nil) != long {
			t.Errorf("%s: %v", text, err)
		}
	}
}
