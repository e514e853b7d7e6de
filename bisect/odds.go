package bisect

import "math"

// Odds is how often a bug has shown, and in how many runs.
type Odds struct {
	Shown int `json:"shown"`
	Runs  int `json:"runs"`
}

// Lower returns the lower bound of the odds, which is wrong with a probability of alpha.
// It is the one-sided bound of Clopper and Pearson, which is valid for few runs, too.
func (o Odds) Lower(alpha float64) float64 {
	if o.Shown == 0 {
		return 0
	}
	low, high := 0.0, 1.0
	for range 60 { // more halving steps than a float64 has bits
		p := (low + high) / 2
		if atLeast(o.Shown, o.Runs, p) > alpha {
			high = p
		} else {
			low = p
		}
	}
	return low
}

// atLeast returns the probability of k or more in n runs, if each run shows the bug with
// probability p.
func atLeast(k, n int, p float64) float64 {
	if p <= 0 || p >= 1 {
		if p >= 1 || k == 0 {
			return 1
		}
		return 0
	}
	lgN, _ := math.Lgamma(float64(n + 1))
	sum := 0.0
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(lgN - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}

// runsNeeded returns how many runs must hold so that a bug with probability p is missed
// with a probability of at most miss.
func runsNeeded(p, miss float64) int {
	if p >= 1 {
		return 1
	}
	return max(1, int(math.Ceil(math.Log(miss)/math.Log1p(-p))))
}

// Shows returns the smallest probability of a bug that so many runs would show with that
// confidence.
func Shows(runs int, confidence float64) float64 {
	return 1 - math.Pow(1-confidence, 1/float64(runs))
}
