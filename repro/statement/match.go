package statement

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/mod/semver"
	"golang.org/x/sys/unix"
)

// Match is the result of matching a text: the statements of containerd that made it.
type Match struct {
	// Chain has the matched formats, the outermost first: the logged message, then its
	// error, then each wrapped error. It is empty if no release makes such a text.
	Chain []*Text
	// Codes are the error codes in the text, with the names of errdefs or errno: "NotFound",
	// "ENOSPC".
	Codes []string
	// Unknown is the part that no statement of containerd makes. It comes from runc, the
	// kernel or another program. It is "" if all is known.
	Unknown string

	weight int // the number of letters and digits in the matched parts
}

// Holds reports whether other has the innermost format of m, which is the cause, and the
// same codes. An injected error has no statement. If other has one, the same outermost
// format is enough.
func (m Match) Holds(other Match) bool {
	if len(m.Chain) == 0 {
		return false
	}
	if injected := other.Unknown != "" && other.has(m.Chain[0]); !injected && !other.has(m.Chain[len(m.Chain)-1]) {
		return false
	}
	of, in := m.callCodes(), other.callCodes()
	return len(in) == 0 || !slices.ContainsFunc(of, func(code string) bool { return !slices.Contains(in, code) })
}

// callCodes returns the gRPC codes except Unknown, because Unknown does not tell errors
// apart.
func (m Match) callCodes() []string {
	return slices.DeleteFunc(slices.Clone(m.Codes), func(code string) bool {
		return code == "Unknown" || code == strings.ToUpper(code)
	})
}

// Weight returns the number of letters and digits that the statements explain.
func (m Match) Weight() int { return m.weight }

func (m Match) has(x *Text) bool {
	return slices.ContainsFunc(m.Chain, func(o *Text) bool { return o.Kind == x.Kind && o.Format == x.Format })
}

// Similarity returns the percentage of the formats and codes of m that other also has.
func (m Match) Similarity(other Match) int {
	n := 0
	for _, x := range m.Chain {
		if other.has(x) {
			n++
		}
	}
	for _, c := range m.Codes {
		if slices.Contains(other.Codes, c) {
			n++
		}
	}
	return 100 * n / max(len(m.Chain)+len(m.Codes), 1)
}

// Functions returns the functions of a release that make the texts, with their types.
func (m Match) Functions(release string) (out []string) {
	for _, x := range m.Chain {
		for _, p := range x.Places {
			if p.Func != "" && p.in(release) {
				out = append(out, p.Func)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Releases returns the tested releases that can make most of the texts of the matches,
// the oldest first. It returns none if no match has a format.
func Releases(all []Match) (best []string) {
	can := map[string]int{} // the number of texts that a release makes
	for _, m := range all {
		for _, x := range m.Chain {
			of := map[string]bool{}
			for _, p := range x.Places {
				for _, r := range p.Releases {
					of[r] = true
				}
			}
			for r := range of {
				can[r]++
			}
		}
	}
	most := 0
	for r, n := range can {
		switch {
		case n > most:
			most, best = n, []string{r}
		case n == most:
			best = append(best, r)
		}
	}
	slices.SortFunc(best, semver.Compare)
	return best
}

// Line matches a log line of containerd or of its client. It returns the better result of
// Log and Error.
func (t *Table) Line(message, err string) Match {
	if strings.HasPrefix(message, "panic: ") || strings.HasPrefix(message, "fatal error: ") {
		first, _, _ := strings.Cut(message, "\n")
		return Match{Chain: []*Text{{Kind: Panic, Format: first}}, weight: letters(first)}
	}
	logged, printed := t.Log(message, err), t.Error(message)
	if err != "" {
		printed = t.Error(message + ": " + err)
	}
	if printed.weight > logged.weight {
		return printed
	}
	return logged
}

// Log matches a logged message and the error in its fields, if any. Both are unquoted,
// and have no time and no level.
func (t *Table) Log(message, err string) Match {
	m := newSearch(t).text(t.logs, message)
	if m.weight == 0 {
		return Match{Unknown: message}
	}
	if err != "" {
		m.Unknown = ""
		m.wrap(t.Error(err))
	}
	return m
}

// wrap adds the match of a wrapped error.
func (m *Match) wrap(inner Match) {
	m.Chain = append(m.Chain, inner.Chain...)
	m.Codes = append(m.Codes, inner.Codes...)
	m.Unknown = cmp.Or(inner.Unknown, m.Unknown)
	m.weight += inner.weight
}

// Error matches the text of an error that a client prints.
func (t *Table) Error(text string) Match { return newSearch(t).error(text) }

// search matches one text. It tries each part of the text once, and at most maxParts
// parts.
type search struct {
	table *Table
	done  map[string]Match
}

// maxParts is the maximum number of parts that are tried. A long chain of errors has
// ten.
const maxParts = 64

func newSearch(t *Table) *search { return &search{t, map[string]Match{}} }

// text returns the match of a whole text that explains the most letters.
func (s *search) text(in index, text string) (best Match) {
	for _, x := range in.candidates(text) {
		found := x.compile().FindStringSubmatch(text)
		if found == nil {
			continue
		}
		m := Match{Chain: []*Text{x}, weight: x.weight}
		for _, wrapped := range found[1:] {
			m.wrap(s.error(wrapped))
		}
		if m.weight > best.weight {
			best = m
		}
	}
	return best
}

// maxError is the maximum length of an error's text in bytes. The rest is ignored.
const maxError = 4 << 10

var rpcError = regexp.MustCompile(`(?s)\Arpc error: code = (\w+) desc = (.*)\z`)

// error returns the best match of an error's text. It skips an unknown part up to the
// next colon, because another program may have added it.
func (s *search) error(text string) Match {
	if len(text) > maxError {
		text = text[:maxError]
	}
	text = strings.TrimSpace(text)
	if m, ok := s.done[text]; ok {
		return m
	}
	if len(s.done) >= maxParts {
		return Match{Unknown: text}
	}
	s.done[text] = Match{} // a placeholder during the search
	m := s.best(text)
	s.done[text] = m
	return m
}

func (s *search) best(text string) Match {
	if code := codes[text]; code != "" {
		return Match{Codes: []string{code}, weight: letters(text)}
	}
	if rpc := rpcError.FindStringSubmatch(text); rpc != nil {
		m := s.error(rpc[2])
		m.Codes = append([]string{rpc[1]}, m.Codes...)
		m.weight += letters(rpc[1])
		return m
	}
	best := s.text(s.table.errors, text)
	if i := strings.Index(text, ": "); i >= 0 {
		if m := s.error(text[i+2:]); m.weight > best.weight {
			switch code := codes[text[:i]]; {
			case code != "": // "context canceled: unknown"
				m.Codes = append([]string{code}, m.Codes...)
				m.weight += letters(text[:i])
			case m.Unknown == "":
				m.Unknown = text[:i]
			default:
				m.Unknown = text[:i+2] + m.Unknown
			}
			return m
		}
	}
	if best.weight == 0 {
		best.Unknown = text
	}
	return best
}

// codes maps the texts of errors of errdefs and errno to their codes.
var codes = func() map[string]string {
	all := map[string]string{
		"not found": "NotFound", "already exists": "AlreadyExists", "invalid argument": "InvalidArgument",
		"failed precondition": "FailedPrecondition", "unavailable": "Unavailable", "not implemented": "NotImplemented",
		"context canceled": "Canceled", "context deadline exceeded": "DeadlineExceeded", "unknown": "Unknown",
		"resource exhausted": "ResourceExhausted", "permission denied": "PermissionDenied", "aborted": "Aborted",
		"out of range": "OutOfRange", "internal": "Internal", "unauthenticated": "Unauthenticated",
		"ttrpc: closed": "ttrpc-closed", "EOF": "EOF", "unexpected EOF": "EOF",
	}
	for n := syscall.Errno(1); n < 134; n++ {
		if name := unix.ErrnoName(n); name != "" && all[n.Error()] == "" {
			all[n.Error()] = name
		}
	}
	return all
}()
