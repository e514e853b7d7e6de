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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// decoder knows only the types of objects in these manifests, and refuses other types.
var decoder = func() runtime.Decoder {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme, appsv1.AddToScheme} {
		utilruntime.Must(add(known))
	}
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, known, known,
		json.SerializerOptions{Yaml: true, Strict: true})
}()

// Read returns the objects of a manifest in their order. A field that the API does not
// know is an error, as for the API server.
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
		var o runtime.Object
		if err == nil {
			o, _, err = decoder.Decode(text, nil, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, object %d: %w", file, len(all)+1, err)
		}
		all = append(all, o)
	}
}

// Find returns the first object of a type in a manifest.
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
