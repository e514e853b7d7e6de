package read

import (
	"regexp/syntax"
	"strings"
)

// shortestLiteral is the least that is looked for before a pattern.
const shortestLiteral = 3

// literals are texts, in small letters, one of which stands in all that a pattern
// matches; none where there are no such texts. To look for them is a tenth of the work of
// the pattern, and a journal is long.
func literals(pattern string) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return needed(re)
}

func needed(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if text := strings.ToLower(string(re.Rune)); len(re.Rune) >= shortestLiteral {
			return []string{text}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needed(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needed(re.Sub[0])
		}
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			some := needed(sub)
			if len(some) == 0 {
				return nil
			}
			all = append(all, some...)
		}
		return all
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if some := needed(sub); len(best) == 0 || len(some) > 0 && shortest(some) > shortest(best) {
				best = some
			}
		}
		return best
	}
	return nil
}

func shortest(all []string) int {
	n := len(all[0])
	for _, text := range all {
		n = min(n, len(text))
	}
	return n
}

// matches reports whether the telling's pattern is in a text, which small has in small
// letters.
func (t telling) matches(text, small string) bool {
	for _, literal := range t.literals {
		if strings.Contains(small, literal) {
			return t.pattern.MatchString(text)
		}
	}
	return len(t.literals) == 0 && t.pattern.MatchString(text)
}
