package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// leased: garbage that is collected when a lease has expired takes it and what it alone
// keeps, and not before.
func leased(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.Leased == nil || !h.Case.Faultless() {
		return nil, nil
	}
	for _, look := range h.Leased.Looks {
		for _, l := range h.Leased.Leases {
			found = append(found, ofLease(look, l, oracle.ClassLease, l.ID, look.Leases)...)
			if l.Snapshot != "" {
				found = append(found, ofLease(look, l, oracle.ClassSnapshot, l.Snapshot, look.Snapshots)...)
			}
		}
	}
	return uniqueCauses(found), nil
}

// ofLease judges a lease, or what it keeps, by what there was after a collection.
func ofLease(look harness.LeaseLook, l harness.Lease, class oracle.Class, id string,
	there []string) []oracle.Finding {
	is := oracle.Finding{Class: class, Subject: oracle.Subject{ID: id},
		Facts: oracle.Facts{oracle.FactAt: l.Expires.Format(time.RFC3339)}}
	if class == oracle.ClassSnapshot {
		is.Facts[oracle.FactLeaseID] = l.ID
	}
	switch has := slices.Contains(there, id); {
	case has && look.At.After(l.Expires):
		is.Invariant, is.Facts[oracle.FactExpires] = oracle.Leak, oracle.Expired
	case !has && look.Answered.Before(l.Expires):
		is.Invariant, is.Facts[oracle.FactExpires] = oracle.Loss, oracle.Yes
	default:
		return nil
	}
	return []oracle.Finding{is}
}
