// Command sbom writes a bill of materials (CycloneDX, JSON) of a binary of shimquake.
// It lists the modules of the binary and of its embedded programs, Go's library, and
// the script libraries of its pages. The output is the same for the same binaries.
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	version := flag.String("version", "", "version of the binary")
	npm := flag.String("npm", "", "a package.json whose dependencies are in the binary, too")
	flag.Parse()
	if err := run(os.Stdout, *version, *npm, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// run writes the bill of the first binary; the others are the programs embedded in it.
func run(w io.Writer, version, npm string, binaries []string) error {
	if len(binaries) == 0 || version == "" {
		return fmt.Errorf("usage: sbom -version V [-npm package.json] BINARY [PROGRAM...]")
	}
	epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("set SOURCE_DATE_EPOCH to the time of the commit, in seconds: %w", err)
	}
	parts := map[string]cdx.Component{} // by their package URLs
	var self cdx.Component
	for i, name := range binaries {
		info, err := buildinfo.ReadFile(name)
		if err != nil {
			return err
		}
		if i == 0 {
			if self, err = binary(name, version, info); err != nil {
				return err
			}
		}
		addGo(parts, info)
	}
	if npm != "" {
		if err := addNpm(parts, npm); err != nil {
			return err
		}
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: time.Unix(epoch, 0).UTC().Format(time.RFC3339), Component: &self}
	all := make([]cdx.Component, 0, len(parts))
	refs := make([]string, 0, len(parts))
	for _, c := range parts {
		all = append(all, c)
		refs = append(refs, c.BOMRef)
	}
	slices.SortFunc(all, func(a, b cdx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	slices.Sort(refs)
	bom.Components, bom.Dependencies = &all, &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &refs}}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

// binary returns the main component of the bill.
func binary(name, version string, info *debug.BuildInfo) (cdx.Component, error) {
	f, err := os.Open(name)
	if err != nil {
		return cdx.Component{}, err
	}
	defer func() { _ = f.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return cdx.Component{}, err
	}
	c := component("golang", info.Main.Path, version, cdx.ComponentTypeApplication)
	c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum.Sum(nil))}}
	c.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	var properties []cdx.Property
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" {
			properties = append(properties, cdx.Property{Name: "build:" + s.Key, Value: s.Value})
		}
	}
	c.Properties = &properties
	return c, nil
}

func component(kind, name, version string, is cdx.ComponentType) cdx.Component {
	url := fmt.Sprintf("pkg:%s/%s@%s", kind, name, strings.ReplaceAll(version, "+", "%2B"))
	return cdx.Component{BOMRef: url, PackageURL: url, Type: is, Name: name, Version: version}
}

// addGo adds the modules of a binary.
func addGo(parts map[string]cdx.Component, info *debug.BuildInfo) {
	std := component("golang", "std", strings.TrimPrefix(info.GoVersion, "go"), cdx.ComponentTypeLibrary)
	parts[std.BOMRef] = std
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		c := component("golang", dep.Path, dep.Version, cdx.ComponentTypeLibrary)
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(dep.Sum, "h1:")); err == nil && len(sum) > 0 {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		parts[c.BOMRef] = c
	}
}

// addNpm adds the dependencies of a package.json.
func addNpm(parts map[string]cdx.Component, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for name, version := range manifest.Dependencies {
		c := component("npm", name, version, cdx.ComponentTypeLibrary)
		parts[c.BOMRef] = c
	}
	return nil
}
