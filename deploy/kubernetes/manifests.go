// Package kubernetes reads the manifests of its folder as the API server would: a field
// that the API does not know is an error.
package kubernetes

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// kinds are the objects that these manifests have.
var kinds = map[metav1.TypeMeta]func() any{
	{APIVersion: "v1", Kind: "Namespace"}:             func() any { return &corev1.Namespace{} },
	{APIVersion: "v1", Kind: "PersistentVolumeClaim"}: func() any { return &corev1.PersistentVolumeClaim{} },
	{APIVersion: "v1", Kind: "Pod"}:                   func() any { return &corev1.Pod{} },
	{APIVersion: "batch/v1", Kind: "Job"}:             func() any { return &batchv1.Job{} },
	{APIVersion: "apps/v1", Kind: "DaemonSet"}:        func() any { return &appsv1.DaemonSet{} },
}

// Read returns the objects of a manifest, in their order.
func Read(file string) ([]any, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read a manifest: %w", err)
	}
	defer func() { _ = f.Close() }() // it is only read
	var all []any
	for docs := utilyaml.NewYAMLReader(bufio.NewReader(f)); ; {
		text, err := docs.Read()
		if errors.Is(err, io.EOF) && len(all) > 0 {
			return all, nil
		}
		var o any
		if err == nil {
			o, err = decode(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, object %d: %w", file, len(all)+1, err)
		}
		all = append(all, o)
	}
}

func decode(text []byte) (any, error) {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(text, &kind); err != nil {
		return nil, err
	}
	empty, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("no kind of these manifests: %q of %q", kind.Kind, kind.APIVersion)
	}
	o := empty()
	return o, yaml.UnmarshalStrict(text, o, yaml.DisallowUnknownFields)
}

// Find is the first object of a type in a manifest.
func Find[T any](file string) (*T, error) {
	all, err := Read(file)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if t, ok := o.(*T); ok {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%s has no %T", file, *new(T))
}
