package compare

import "github.com/shimquake/shimquake/oracle/inventory"

// diff is the difference between two inventories.
type diff struct{ before, after inventory.Inventory }

// fresh lists the members of after that are not in before, by key. If after has two with
// the same key and before has one, one is fresh.
func fresh[T any, K comparable](before, after []T, key func(T) K) []T {
	had := make(map[K]int, len(before))
	for _, x := range before {
		had[key(x)]++
	}
	var out []T
	for _, x := range after {
		if k := key(x); had[k] > 0 {
			had[k]--
			continue
		}
		out = append(out, x)
	}
	return out
}

// missing lists the members of before whose key is not in after.
func missing[T any, K comparable](before, after []T, key func(T) K) []T {
	return fresh(after, before, key)
}
