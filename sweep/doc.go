// Package sweep runs the cases of a plan. For each cluster of findings it looks for the
// simplest case that shows the cluster.
//
// A sweep is a [plan.Plan], a journal with a line for the result of each case, and a
// [triage.Report] of these two. So a sweep that was killed and resumed, or split over
// machines and merged, gives the same report.
//
// The packages, each of which imports only packages of the lines above it:
//
//	engine   runs cases
//	plan     what a sweep runs        pairs   pairs of faults, which single ones cannot reach
//	journal  the results              triage  signatures, clusters, known findings, the report
//	sweep    schedule, minimiser
//	random   random plans             mutation  does the sweep find bugs?
package sweep
