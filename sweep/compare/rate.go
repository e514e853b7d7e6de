package compare

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Count is how many runs of a case showed a finding.
type Count struct {
	Shown int `json:"shown"`
	Runs  int `json:"runs"`
}

func (c Count) String() string { return fmt.Sprintf("%d of %d", c.Shown, c.Runs) }

// allHold returns the probability that m further runs of the case all hold. Its count so
// far gives the rate: this is the beta-binomial distribution, with Jeffreys' prior.
func (c Count) allHold(m int) float64 {
	a, b := float64(c.Shown)+0.5, float64(c.Runs-c.Shown)+0.5
	return math.Exp(mathext.Lbeta(a, b+float64(m)) - mathext.Lbeta(a, b))
}

// needed returns how many held runs have a probability of at most alpha.
func (c Count) needed(alpha float64) int {
	// The probability falls with m, so the number is between two powers of two.
	low, high := 0, 1
	for c.allHold(high) > alpha && high < 1<<30 {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; c.allHold(middle) > alpha {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
