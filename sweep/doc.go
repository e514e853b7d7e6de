// Package sweep runs the cases of a plan, and finds for each cluster of what they leave
// the simplest case that shows it.
//
// A sweep is a [plan.Plan] (what runs), a journal (what came of it, a line a case, as it
// comes) and a [triage.Report] (made of nothing but these two). So a sweep can be killed
// and resumed, split over machines and merged, and gives the same report.
//
// The rooms below know nothing of those above:
//
//	plan     what a sweep runs        pairs   pairs of faults, which single ones cannot reach
//	journal  what came of it          triage  signatures, clusters, known findings, the report
//	sweep    schedule, slots, minimiser
//	random   random plans             mutation  does the sweep find bugs?
package sweep
