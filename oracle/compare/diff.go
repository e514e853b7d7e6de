package compare

import "github.com/shimquake/shimquake/oracle/inventory"

// diff is the difference between two inventories.
type diff struct{ before, after inventory.Inventory }

// fresh lists the members of after that before has not, by key, counting: of two alike in
// after one stays when before had one.
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

// missing lists the members of before whose key after has not.
func missing[T any, K comparable](before, after []T, key func(T) K) []T {
	return fresh(after, before, key)
}
