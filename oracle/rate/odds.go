package rate

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Odds is how many runs of a case showed a bug: "19 of 20".
type Odds struct {
	Shown int `json:"shown"`
	Runs  int `json:"runs"`
}

// UnmarshalYAML is for the YAML library.
func (o *Odds) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	n, err := fmt.Sscanf(text, "%d of %d", &o.Shown, &o.Runs)
	if err != nil || n != 2 || o.String() != text || o.Shown < 1 || o.Shown > o.Runs {
		return fmt.Errorf("odds %q: expected 1 of 20 to 20 of 20", text)
	}
	return nil
}

func (o Odds) String() string { return fmt.Sprintf("%d of %d", o.Shown, o.Runs) }

// Sure reports whether every run showed the bug.
func (o Odds) Sure() bool { return o.Runs > 0 && o.Shown == o.Runs }

// rate returns the parameters of the beta distribution of the bug's rate, with Jeffreys'
// prior.
func (o Odds) rate() (a, b float64) {
	return float64(o.Shown) + 0.5, float64(o.Runs-o.Shown) + 0.5
}

// AllHold returns the probability that m further runs of the case all hold: the
// beta-binomial distribution.
func (o Odds) AllHold(m int) float64 {
	a, b := o.rate()
	return math.Exp(mathext.Lbeta(a, b+float64(m)) - mathext.Lbeta(a, b))
}

// Needed returns how many held runs have a probability of at most alpha.
func (o Odds) Needed(alpha float64) int {
	// The probability falls with m, so the number is between two powers of two.
	low, high := 0, 1
	for o.AllHold(high) > alpha && high < 1<<30 {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; o.AllHold(middle) > alpha {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// AtMost returns the largest rate that the bug has with this probability.
func (o Odds) AtMost(probability float64) float64 {
	a, b := o.rate()
	return mathext.InvRegIncBeta(a, b, probability)
}
