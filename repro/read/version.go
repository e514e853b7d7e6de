package read

import (
	"regexp"
	"slices"
	"strings"
)

// number matches a release. It leaves out the suffix of a vendor (-k3s1, ~ds1).
const number = `v?(\d+\.\d+\.\d+(?:-(?:rc|beta|alpha)\.\d+)?)(?:[-+~][\w.~+-]+)?`

// versionAnswers match the lines in which programs print containerd's version.
var versionAnswers = []*regexp.Regexp{
	regexp.MustCompile(`^containerd(?:\.io)? github\.com/containerd/containerd\S* ` + number), // containerd --version
	regexp.MustCompile(`^ctr (?:github\.com/\S+ )?` + number),                                 // ctr --version
	regexp.MustCompile(`(?i)\bcontainerd://` + number),
	// kubectl get nodes -o wide
	regexp.MustCompile(`(?i)^ii\s+containerd(?:\.io)?(?::\w+)?\s+(?:\d+:)?` + number), // dpkg -l
	regexp.MustCompile(`(?i)^containerd(?:\.io)?[-_](?:\d+:)?` + number),              // rpm -q
	regexp.MustCompile(`(?i)\bRuntimeVersion:\s*` + number),                           // crictl version
	regexp.MustCompile(`(?i)^"?containerd"? ?(?:version)?:\s*"?` + number),            // a template's field
	regexp.MustCompile(`(?i)github\.com/containerd/containerd(?:/v2)? ` + number),
	regexp.MustCompile(`(?i)^\s*Version[:=]\s*` + number + `$`), // ctr version, docker version: within its block only
}

// versionMention matches a version in a sentence.
var versionMention = regexp.MustCompile(
	`(?i)\b(?:containerd(?:\.io)?\b[^.\n]{0,24}?|ctr version:? )\b` + number + `\b`)

// block matches a line of docker version, docker info or ctr version that names a
// program. The program's versions follow.
var block = regexp.MustCompile(`^(?i)(client|server|containerd|runc|docker-init|engine):?$`)

// versionLine notes a line in which a program prints a version.
func (r *reader) versionLine(l line) bool {
	for i, p := range versionAnswers {
		m := p.FindStringSubmatch(l.text)
		if m == nil {
			continue
		}
		if i == len(versionAnswers)-1 {
			if !r.inContainerdsBlock() {
				return strings.Contains(r.command, "version")
			}
		}
		r.version(m[1], l, byOutput)
		return true
	}
	return strings.Contains(r.command, "version") && keyAndValue.MatchString(l.text)
}

// keyAndValue matches the other lines of `ctr version` and similar commands.
var keyAndValue = regexp.MustCompile(`^(Client|Server|Revision|Go version|UUID|RuntimeName|RuntimeApiVersion|` +
	`API version|` +
	`Git ?[Cc]ommit|Built|OS/Arch|Context|Experimental|containerd|runc|docker-init|Engine)\b[\w ]*:`)

// inContainerdsBlock reports whether a version belongs to containerd, by the lines
// before.
func (r *reader) inContainerdsBlock() bool {
	if strings.Contains(r.command, "ctr") && strings.Contains(r.command, "version") {
		return true
	}
	for i := r.at - 1; i >= max(0, r.at-4); i-- {
		if m := block.FindStringSubmatch(r.all[i].text); m != nil {
			return strings.EqualFold(m[1], "containerd")
		}
	}
	return false
}

// upgrades are the forms of a change of releases. The last group is the new release.
var upgrades = []*regexp.Regexp{
	// apt's history, dnf's
	regexp.MustCompile(`(?i)\bcontainerd(?:\.io)?(?::\w+)? \([^,()]+, (?:\d+:)?` + number + `\)`),
	regexp.MustCompile(`(?i)\bupgraded?:? .*containerd(?:\.io)?-(?:\d+:)?` + number),
	// a sentence
	regexp.MustCompile(`(?i)\bcontainerd\b.*\b` + number + ` (?:to|->|=>) (?:containerd )?` + number),
}

// upgraded notes the new release of an upgrade.
func (r *reader) upgraded(l line) bool {
	for i, p := range upgrades {
		if m := p.FindStringSubmatch(l.text); m != nil {
			by := byLog
			if i == len(upgrades)-1 {
				by = inWords
			}
			r.version(m[len(m)-1], l, by)
			r.understand()
			return true
		}
	}
	return false
}

// mentionedVersion notes the versions in a sentence.
func (r *reader) mentionedVersion(l line) {
	if r.upgraded(l) {
		return
	}
	for _, m := range versionMention.FindAllStringSubmatch(l.text, 3) {
		r.version(m[1], l, inWords)
		r.understand()
	}
}

const maxVersions = 8

func (r *reader) version(text string, l line, by Source) {
	release := releaseForm.FindString("v" + strings.TrimPrefix(strings.TrimSpace(text), "v"))
	if release == "" {
		return
	}
	i := slices.IndexFunc(r.Versions, func(v Version) bool { return v.Release == release })
	switch {
	case i >= 0:
		r.Versions[i].By = max(r.Versions[i].By, by)
	case len(r.Versions) < maxVersions:
		r.Versions = append(r.Versions, Version{Release: release, Line: l.n, By: by})
	}
}

// chooseVersion puts the release first that ran at the time of the trouble. A release
// in a log counts more than a mention. Of two releases in logs, the last one before the
// first warning counts.
func (r *reader) chooseVersion() {
	first := len(r.all) + 1
	for _, o := range r.Seen {
		if o.What == LoggedMessage && len(o.Made.Chain) > 0 && o.Level != "info" && o.Level != "debug" {
			first = min(first, o.Lines[0])
		}
	}
	slices.SortStableFunc(r.Versions, func(a, b Version) int {
		if a.By == byLog && b.By == byLog && a.Line < first && b.Line < first {
			return b.Line - a.Line
		}
		return int(b.By - a.By)
	})
}

var releaseForm = regexp.MustCompile(`^v\d{1,3}\.\d{1,4}\.\d{1,4}(-(rc|beta|alpha)\.\d+)?`)
