package quote_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/quote"
)

// hostile has one text of each kind that has done harm.
var hostile = []string{
	"x\x1b[2K\x1b[1;31mviolated", "a\nviolated forged on containerd v2.4.2", "a\r0 suspects", "a\tb", "\x00", "\x7f",
	"\u009b2J", "\u202egnp.exe", "\u2066x\u2069", "no\u00a0break", "zero\u200bwidth", "\u2028next", "\xff\xfe",
	"\xe2\x80", "\x1b]8;;http://evil\x07link\x1b]8;;\x07", "\x1b]0;title\x07", "\U000e0041tag", "größer, 日本語, 🙂",
}

func FuzzLine(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
		f.Add(strings.Repeat(text, 2000))
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := quote.Line(text)
		for _, r := range line {
			if !strconv.IsPrint(r) {
				t.Fatalf("%U is in %q", r, line)
			}
		}
		if len(line) > 60_000 {
			t.Errorf("%d bytes are a line of %d", len(text), len(line))
		}
		if again := quote.Line(line); len(line) < 8000 && again != line {
			t.Errorf("%q, quoted again %q", line, again)
		}
	})
}

func TestLine(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"größer 日本語 🙂", "größer 日本語 🙂"},
		{`C:\n`, `C:\n`},
		{"\x1b[31mred\x1b[0m", `\u001b[31mred\u001b[0m`},
		{"a\nb\r\tc", `a\nb\r\tc`},
		{"\u202e\u009b\u00a0", `\u202e\u009b\u00a0`},
		{"\U000e0041", `\udb40\udc41`},
		{"a\xffb", `a\xffb`},
		{"�", "�"},
		{strings.Repeat("a", 8192), strings.Repeat("a", 8192)},
		{strings.Repeat("a", 8193), strings.Repeat("a", 8192) + "... (1 bytes more)"},
		{strings.Repeat("a", 8190) + "日x", strings.Repeat("a", 8190) + "... (4 bytes more)"},
	} {
		must.Equal(t, quote.Line(tt.text), tt.want, tt.text, "is shown as")
	}
}

// Lines that an argument forges must not look like lines of the program.
func TestText(t *testing.T) {
	var b quote.Text
	b.Line("%-8s %s", "held", "a\nviolated b\x1b[2J")
	b.Block("  why:   ", "one\n  found: two\nheld three\r\n")
	b.Block("  log:   ", "")
	want := "held     a\\nviolated b\\u001b[2J\n" +
		"  why:   one\n           found: two\n         held three\\r\n" +
		"  log:   \n"
	must.Equal(t, b.String(), want)
}

func TestTerminal(t *testing.T) {
	var to bytes.Buffer
	term := quote.NewTerminal(&to)
	for _, text := range hostile {
		must.Equal(t, must.Get(fmt.Fprintf(term, "%s\tx\n", text))(t), len(text)+3, text, "bytes")
	}
	must.Succeed(t, term.Paint("32", "held\x1b[0m"))
	body, painted, _ := strings.Cut(to.String(), "\x1b")
	if strings.ContainsFunc(body, func(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) }) {
		t.Errorf("%q", body)
	}
	must.Equal(t, painted, `[32mheld\u001b[0m`+"\x1b[0m", "painted")
}

// A rune may come in two writes. A rune that does not end is escaped.
func TestTerminalTornRunes(t *testing.T) {
	const text = "日本\u202e🙂\xe2\x28\xf0\x9f\n"
	var whole bytes.Buffer
	fmt.Fprint(quote.NewTerminal(&whole), text)
	must.Equal(t, whole.String(), `日本\u202e🙂\xe2(\xf0\x9f`+"\n")
	for size := 1; size < 5; size++ {
		var to bytes.Buffer
		term := quote.NewTerminal(&to)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			fmt.Fprint(term, rest[:n])
			rest = rest[n:]
		}
		must.Equal(t, to.String(), whole.String(), "in pieces of", size)
	}
}

// Objects of JSON are the same behind a Terminal.
func FuzzTerminalJSON(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Skip()
		}
		var to bytes.Buffer
		must.Get(quote.NewTerminal(&to).Write(in))(t)
		want := strings.ToValidUTF8(text, "�")
		var got map[string]string
		must.Succeed(t, json.Unmarshal(to.Bytes(), &got), to.String())
		if utf8.ValidString(text) && got[want] != want {
			t.Errorf("%q came back as %q", want, got)
		}
	})
}

// The program that decodes the JSON shows an escape.
func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		"größer\n\t\"\\": "größer\n\t\"\\", "a\u202e\u009b": `a\u202e\u009b`, "\U000e0041🙂": `\udb40\udc41🙂`,
	} {
		in := must.Get(json.Marshal(text))(t)
		var got string
		if err := json.Unmarshal(quote.JSON(in), &got); err != nil || got != want {
			t.Errorf("%q is shown as %q, want %q: %v", text, got, want, err)
		}
	}
}
