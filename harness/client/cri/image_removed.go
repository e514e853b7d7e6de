package cri

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/poll"
)

// idleImage is one that no container runs.
const idleImage = "shimquake.local/idle:v1"

// imageKnown is how long CRI is given to know of an image that another client has made,
// or that is gone: an event tells it at once.
const imageKnown = 5 * time.Second

// removeImage makes an image that nothing runs, as somebody who imports one does, and has
// CRI remove it when it knows of it, as kubelet does. It asks each time.
func (c *Client) removeImage(ctx context.Context, service api.ImageServiceClient) {
	if !c.Case.Workload.Images {
		return
	}
	err := c.Call(ctx, "make-image", "", func(ctx context.Context) error {
		cl, _, err := c.Up(ctx)
		if err != nil {
			return err
		}
		return makeIdleImage(namespaces.WithNamespace(ctx, daemon.CRINamespace), cl)
	})
	if err != nil {
		return // for others to say
	}
	is := harness.CRIImage{Name: idleImage, Asked: idleImage}
	for range 2 { // what is gone can be removed
		awaitImage(ctx, service, !is.Gone)
		c.imageStatus(ctx, service, is)
		list, err := service.ListImages(ctx, &api.ListImagesRequest{})
		c.image(harness.CRIImage{Name: idleImage, Gone: is.Gone}, listed(list, idleImage), err)
		err = c.Call(ctx, "remove-image", "", func(ctx context.Context) error {
			_, err := service.RemoveImage(ctx, &api.RemoveImageRequest{Image: &api.ImageSpec{Image: idleImage}})
			return err
		})
		if err != nil {
			return // for others to say
		}
		is.Gone = true
	}
}

// awaitImage gives CRI time until it knows of the image, or does not any more: it is
// asked once more then, whatever it has said.
func awaitImage(ctx context.Context, service api.ImageServiceClient, known bool) {
	ctx, end := context.WithTimeout(ctx, imageKnown)
	defer end()
	_ = poll.Until(ctx, 10*time.Millisecond, func() (bool, error) {
		r, err := service.ImageStatus(ctx, &api.ImageStatusRequest{Image: &api.ImageSpec{Image: idleImage}})
		return r.GetImage() != nil == known, err
	})
}

// makeIdleImage makes it of the payload's: with another config, it has another id.
func makeIdleImage(ctx context.Context, cl *containerd.Client) error {
	ctx, done, err := cl.WithLease(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = done(ctx) }() // the oracle finds one that is left
	from, err := cl.ImageService().Get(ctx, payload.Image)
	if err != nil {
		return err
	}
	store := cl.ContentStore()
	manifest, err := images.Manifest(ctx, store, from.Target, platforms.Default())
	if err != nil {
		return err
	}
	text, err := content.ReadBlob(ctx, store, manifest.Config)
	var config v1.Image
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return err
	}
	config.Author = idleImage
	if manifest.Config, err = writeJSON(ctx, store, manifest.Config.MediaType, config, nil); err != nil {
		return err
	}
	keeps := map[string]string{"containerd.io/gc.ref.content.config": manifest.Config.Digest.String()}
	for _, layer := range manifest.Layers {
		keeps["containerd.io/gc.ref.content.l."+layer.Digest.Encoded()[:8]] = layer.Digest.String()
	}
	target, err := writeJSON(ctx, store, v1.MediaTypeImageManifest, manifest, keeps)
	if err == nil {
		_, err = cl.ImageService().Create(ctx, images.Image{Name: idleImage, Target: target})
	}
	return err
}

// writeJSON writes a blob, with the labels that say what it keeps.
func writeJSON(ctx context.Context, store content.Store, mediaType string, of any, keeps map[string]string) (
	v1.Descriptor, error) {
	text, err := json.Marshal(of)
	if err != nil {
		return v1.Descriptor{}, err
	}
	d := v1.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(text), Size: int64(len(text))}
	return d, content.WriteBlob(ctx, store, d.Digest.String(), bytes.NewReader(text), d, content.WithLabels(keeps))
}
