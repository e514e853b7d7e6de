package affected

import (
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Vendors add suffixes that are not valid in semantic versions: 1.6.20~ds1,
// 1.7.28-0ubuntu1~24.04.1, v1.7.23-k3s2.
var (
	ofVendor = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)(.*)$`)
	addition = regexp.MustCompile(`[0-9A-Za-z-]+`)
)

// Semantic converts a version that a containerd reports to a semantic version. A vendor's
// suffix becomes build metadata (v1.6.20+ds1), so that the version counts as its release.
// A string that is not a version stays as it is.
func Semantic(reported string) string {
	m := ofVendor.FindStringSubmatch(strings.TrimSpace(reported))
	if m == nil {
		return "v" + strings.TrimPrefix(reported, "v")
	}
	added := strings.TrimLeft(strings.Join(addition.FindAllString(m[2], -1), "."), "-.")
	if added != "" {
		added = "+" + added
	}
	return "v" + m[1] + added
}

// version parses the reported version of a containerd, or the name of a release.
func version(release string) (*semver.Version, error) { return semver.NewVersion(Semantic(release)) }
