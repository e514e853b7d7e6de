package harness

import "github.com/shimquake/shimquake/oracle"

// lateLies are wrong exit codes in events that arrive when everything is judged. A containerd that cleans up after a dead shim removes the bundle
// first and tells of the exit afterwards (cleanupAfterDeadShim, core/runtime/v2/shim.go of v2.4.2), so that a world can look clean while a made-up code
// is still to come. Events of the id's second life have another pid.
func lateLies(truths []oracle.Truth, ks []*container, late []oracle.TaskEvent) ([]oracle.Finding, error) {
	var judged oracle.Ledger
	for _, t := range truths {
		if err := judged.True(t); err != nil {
			return nil, err
		}
	}
	var first oracle.EventLog
	for _, e := range late {
		for _, k := range ks {
			if k.pid != 0 && e.Container == k.id && e.Exec == "" && e.PID == int(k.pid) {
				first.Add(e)
			}
		}
	}
	first.Ledgered(&judged)
	lies, _ := judged.Check() // that there are none, or of what never ran, is no news by now
	return lies, nil
}
