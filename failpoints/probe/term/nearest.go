package term

import (
	"slices"
	"strings"
)

// Nearest returns the only name in known that begins with name, or else the one with the
// smallest edit distance to name. It returns "" if every known name differs in more than
// half of the letters of name.
func Nearest(name string, known []string) string {
	begins := slices.DeleteFunc(slices.Clone(known), func(k string) bool {
		return name == "" || !strings.HasPrefix(strings.ToLower(k), strings.ToLower(name))
	})
	if len(begins) == 1 {
		return begins[0]
	}
	best, nearest := len(name)/2+2, ""
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < best {
			best, nearest = d, k
		}
	}
	return nearest
}

// distance returns the Levenshtein distance of two strings, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
