// Package bisect finds the first revision at which a bug appears or disappears. It starts
// no program: it gets the number of revisions and a function that runs a case at one of
// them. It decides which revision to run next, how often, and how sure the result is. A
// bug that does not show each time is first measured at the bad end.
package bisect

// Mark is the state of a revision.
type Mark string

// The marks. A revision without one has not been tried.
const (
	Good Mark = "good"
	Bad  Mark = "bad"
	Skip Mark = "skip" // it cannot be tried, or shows another bug
)

// search narrows a row of revisions to two neighbours, one good and one bad.
type search struct {
	marks    []Mark
	doubtful []bool
	lo, hi   int // the last revision like the old end, and the first one like the new end
}

// newSearch returns a search of n revisions with known ends.
func newSearch(n int, first Mark, doubtful []bool) *search {
	s := &search{marks: make([]Mark, n), doubtful: doubtful, hi: n - 1}
	s.marks[0], s.marks[n-1] = first, other(first)
	return s
}

func other(m Mark) Mark {
	if m == Good {
		return Bad
	}
	return Good
}

// next returns the revision to try: the middle of the open ones. Revisions that may not
// exist come last. ok is false if no revision is left.
func (s *search) next() (rev int, ok bool) {
	var firm, doubtful []int
	for i := s.lo + 1; i < s.hi; i++ {
		switch {
		case s.marks[i] != "":
		case s.doubtful != nil && s.doubtful[i]:
			doubtful = append(doubtful, i)
		default:
			firm = append(firm, i)
		}
	}
	for _, open := range [][]int{firm, doubtful} {
		if len(open) > 0 {
			return open[len(open)/2], true
		}
	}
	return 0, false
}

func (s *search) set(rev int, m Mark) {
	s.marks[rev] = m
	switch m {
	case s.marks[0]:
		s.lo = rev
	case other(s.marks[0]):
		s.hi = rev
	}
}

// open returns how many revisions may still be tried.
func (s *search) open() (n int) {
	for i := s.lo + 1; i < s.hi; i++ {
		if s.marks[i] == "" {
			n++
		}
	}
	return n
}
