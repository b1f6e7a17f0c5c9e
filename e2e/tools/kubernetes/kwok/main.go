// kwok with its controllers alone, which pretend nodes and pods by the stages of --config. Its own program also starts a
// server that answers as a kubelet does: no test asks it, and it needs newer libraries than those of this Kubernetes.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/client/clientset/versioned"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/utils/client"
	"sigs.k8s.io/kwok/pkg/utils/signals"
	"sigs.k8s.io/kwok/pkg/utils/slices"
)

func main() {
	if err := run(signals.SetupSignalContext()); err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		os.Exit(1)
	}
}

// run pretends all nodes until a signal comes. The API server answers already when it is called.
func run(ctx context.Context) error {
	flags := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "the kubeconfig of a user who may do everything")
	ctx, err := config.InitFlags(ctx, flags) // adds --config, and reads its stages
	if err != nil {
		return err
	}
	if err := flags.Parse(os.Args[1:]); err != nil { // InitFlags overlooks what is wrong
		return err
	}
	stages := slices.GroupBy(config.FilterWithTypeFromContext[*internalversion.Stage](ctx),
		func(stage *internalversion.Stage) internalversion.StageResourceRef { return stage.Spec.ResourceRef })
	if len(stages) == 0 {
		return fmt.Errorf("--config names no stages")
	}
	settings, err := settingsFor(*kubeconfig)
	if err != nil {
		return err
	}
	options := config.GetKwokConfiguration(ctx).Options
	settings.LocalStages = stages
	settings.ManageAllNodes = true
	settings.CIDR = options.CIDR
	settings.PodPlayStageParallelism = options.PodPlayStageParallelism
	settings.NodePlayStageParallelism = options.NodePlayStageParallelism
	settings.NodeLeaseParallelism = options.NodeLeaseParallelism
	settings.PodsOnNodeSyncParallelism = options.PodsOnNodeSyncParallelism
	settings.EnablePodsOnNodeSyncListPager = options.EnablePodsOnNodeSyncListPager
	settings.EnablePodsOnNodeSyncStreamWatch = options.EnablePodsOnNodeSyncStreamWatch
	controller, err := controllers.NewController(settings)
	if err != nil {
		return err
	}
	if err := controller.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// settingsFor returns what controllers need to ask the kubeconfig's API server.
func settingsFor(kubeconfig string) (controllers.Config, error) {
	settings := controllers.Config{Clock: clock.RealClock{}}
	clients, err := client.NewClientset("", kubeconfig)
	if err != nil {
		return settings, err
	}
	access, err := clients.ToRESTConfig()
	if err != nil {
		return settings, err
	}
	settings.ImpersonatingDynamicClient = clients.ToImpersonatingDynamicClient()
	settings.ImpersonatingTypedClient = clients.ToImpersonatingTypedClient()
	if settings.ID, err = controllers.Identity(); err != nil {
		return settings, err
	}
	if settings.DynamicClient, err = clients.ToDynamicClient(); err != nil {
		return settings, err
	}
	if settings.RESTMapper, err = clients.ToRESTMapper(); err != nil {
		return settings, err
	}
	if settings.RESTClient, err = rest.RESTClientFor(access); err != nil {
		return settings, err
	}
	if settings.TypedClient, err = kubernetes.NewForConfig(access); err != nil {
		return settings, err
	}
	settings.TypedKwokClient, err = versioned.NewForConfig(access)
	return settings, err
}
