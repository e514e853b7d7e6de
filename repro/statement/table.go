package statement

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Text is a format, with all statements that have this format.
type Text struct {
	Kind   Kind
	Format string
	// Places are the statements. A Panic has none.
	Places []Statement

	literals []string
	longest  string // of the literals
	weight   int    // letters and digits of the literals
	verbs    []byte
	compile  func() *regexp.Regexp
}

// least is the minimum number of letters in the literals. A shorter format would match
// too many texts.
const least = 4

// Table finds the statements that make a text.
type Table struct {
	logs, errors index
}

// NewTable returns a table of the statements.
func NewTable(all []Statement) *Table {
	texts := map[string]*Text{}
	t := &Table{logs: index{}, errors: index{}}
	for _, s := range all {
		key := string(s.Kind) + " " + s.Format
		if old := texts[key]; old != nil {
			old.Places = append(old.Places, s)
			continue
		}
		x := &Text{Kind: s.Kind, Format: s.Format, Places: []Statement{s}}
		x.literals, x.verbs = parts(s.Format)
		for _, l := range x.literals {
			x.weight += letters(l)
			if len(l) > len(x.longest) {
				x.longest = l
			}
		}
		if x.weight < least {
			continue
		}
		x.compile = sync.OnceValue(x.pattern)
		texts[key] = x
		if s.Kind == Log {
			t.logs.add(x)
		} else {
			t.errors.add(x)
		}
	}
	return t
}

func letters(text string) (n int) {
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// index maps the first longestKey bytes of the first literal to texts.
type index map[string][]*Text

const longestKey = 8

func (i index) add(x *Text) {
	key := x.literals[0]
	key = key[:min(len(key), longestKey)]
	i[key] = append(i[key], x)
}

// candidates returns the formats that may match the whole text.
func (i index) candidates(text string) (out []*Text) {
	for n := 0; n <= min(longestKey, len(text)); n++ {
		for _, x := range i[text[:n]] {
			if strings.HasPrefix(text, x.literals[0]) && strings.Contains(text, x.longest) {
				out = append(out, x)
			}
		}
	}
	return out
}

// verbPatterns match the output of verbs of package fmt.
var verbPatterns = map[byte]string{
	'd': `-?\d+`, 'x': `[0-9a-f]+`, 'X': `[0-9A-F]+`, 'o': `[0-7]+`, 't': `true|false`, 'f': `-?[\d.]+`,
	'q': `"(?:[^"\\]|\\.)*"`,
}

// pattern returns a pattern that matches whole texts of this format. Each wrapped error
// is a group.
func (t *Text) pattern() *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i, l := range t.literals {
		b.WriteString(regexp.QuoteMeta(l))
		if i == len(t.verbs) {
			break
		}
		switch v := t.verbs[i]; {
		case v == 'w':
			b.WriteString(`(.+)`)
		case verbPatterns[v] != "":
			b.WriteString(`(?:` + verbPatterns[v] + `)`)
		default:
			b.WriteString(`.*?`)
		}
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}
