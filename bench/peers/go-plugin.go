// SPDX-License-Identifier: Apache-2.0

// go-plugin netrpc|grpc SECONDS DEPTH:SIZE...: a host of HashiCorp's go-plugin calls a plugin of it (this program
// again), over net/rpc or over gRPC, for each point of bench/sweep.h. Calls under way together are goroutines.
// gRPC's messages are Google's StringValue, so that no code has to be generated.
package main

import (
	"context"
	"fmt"
	"io/ioutil"
	"net/rpc"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang/protobuf/ptypes/wrappers"
	hclog "github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

const most = 1 << 30 // bytes of a message of gRPC

var handshake = plugin.HandshakeConfig{
	ProtocolVersion:  1,
	MagicCookieKey:   "MORTISE_BENCH_COOKIE",
	MagicCookieValue: "a peer of the bench",
}

type caller func(text string) (string, error)

// ---- net/rpc

type netServer struct{}

func (netServer) Echo(text string, reply *string) error {
	*reply = text
	return nil
}

type netPlugin struct{}

func (netPlugin) Server(*plugin.MuxBroker) (interface{}, error) { return netServer{}, nil }

func (netPlugin) Client(_ *plugin.MuxBroker, c *rpc.Client) (interface{}, error) {
	return caller(func(text string) (reply string, err error) {
		err = c.Call("Plugin.Echo", text, &reply)
		return
	}), nil
}

// ---- gRPC

type grpcPlugin struct{ plugin.NetRPCUnsupportedPlugin }

func onEcho(_ interface{}, _ context.Context, decode func(interface{}) error,
	_ grpc.UnaryServerInterceptor) (interface{}, error) {
	request := new(wrappers.StringValue)
	err := decode(request)
	return request, err
}

var service = grpc.ServiceDesc{
	ServiceName: "mortise.bench.Echo",
	HandlerType: (*interface{})(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Echo", Handler: onEcho}},
}

func (grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&service, struct{}{})
	return nil
}

func (grpcPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (interface{}, error) {
	return caller(func(text string) (string, error) {
		reply := new(wrappers.StringValue)
		request := &wrappers.StringValue{Value: text}
		err := c.Invoke(context.Background(), "/mortise.bench.Echo/Echo", request, reply,
			grpc.MaxCallRecvMsgSize(most), grpc.MaxCallSendMsgSize(most))
		return reply.Value, err
	}), nil
}

// plugins has one: go-plugin takes the protocol from any of them.
func plugins(kind string) map[string]plugin.Plugin {
	if kind == "grpc" {
		return map[string]plugin.Plugin{kind: grpcPlugin{}}
	}
	return map[string]plugin.Plugin{kind: netPlugin{}}
}

func serve(kind string) {
	config := &plugin.ServeConfig{HandshakeConfig: handshake, Plugins: plugins(kind)}
	if kind == "grpc" {
		config.GRPCServer = func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.MaxRecvMsgSize(most), grpc.MaxSendMsgSize(most))...)
		}
	}
	plugin.Serve(config)
}

// ---- the host

func start(kind string) (*plugin.Client, caller, error) {
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		Plugins:          plugins(kind),
		Cmd:              exec.Command(os.Args[0], "plugin", kind),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolNetRPC, plugin.ProtocolGRPC},
		Logger:           hclog.New(&hclog.LoggerOptions{Output: ioutil.Discard}),
	})
	protocol, err := client.Client()
	if err != nil {
		return client, nil, err
	}
	raw, err := protocol.Dispense(kind)
	if err != nil {
		return client, nil, err
	}
	return client, raw.(caller), nil
}

func once(call caller, text string) error {
	reply, err := call(text)
	if err == nil && len(reply) != len(text) {
		err = fmt.Errorf("not what was sent")
	}
	return err
}

// run makes count calls, depth of them under way.
func run(call caller, text string, count, depth int) (err error) {
	if depth == 1 {
		for i := 0; i < count && err == nil; i++ {
			err = once(call, text)
		}
		return err
	}
	var group sync.WaitGroup
	failed := make(chan error, depth)
	for worker := 0; worker < depth; worker++ {
		group.Add(1)
		go func(calls int) {
			defer group.Done()
			for i := 0; i < calls; i++ {
				if err := once(call, text); err != nil {
					failed <- err
					return
				}
			}
		}(count / depth)
	}
	group.Wait()
	select {
	case err = <-failed:
	default:
	}
	return err
}

func point(call caller, budget time.Duration, depth, size int) error {
	text := strings.Repeat("abcdefghijklmnopqrstuvwxyz", size/26+1)[:size]
	count := 4 * depth
	if depth == 1 {
		count = 1
	}
	timed := func() (time.Duration, error) {
		begin := time.Now()
		err := run(call, text, count, depth)
		return time.Since(begin), err
	}
	if err := run(call, text, depth, depth); err != nil {
		return err
	}
	for {
		took, err := timed()
		if err != nil {
			return err
		}
		if took >= budget/40 {
			break
		}
		count *= 2
	}
	var batches []int64
	for total := time.Duration(0); total < budget; {
		took, err := timed()
		if err != nil {
			return err
		}
		total += took
		batches = append(batches, took.Nanoseconds()/int64(count))
	}
	sort.Slice(batches, func(a, b int) bool { return batches[a] < batches[b] })
	fmt.Printf("{\"depth\": %d, \"size\": %d, \"ns\": %d, \"batches\": %d}\n", depth, size,
		batches[len(batches)/2], len(batches))
	return nil
}

func host(kind, seconds string, points []string) error {
	client, call, err := start(kind)
	defer client.Kill()
	if err != nil {
		return err
	}
	budget, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return err
	}
	for _, word := range points {
		var depth, size int
		if _, err := fmt.Sscanf(word, "%d:%d", &depth, &size); err != nil {
			return err
		}
		if err := point(call, time.Duration(budget*1e9), depth, size); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "plugin" {
		serve(os.Args[2])
		return
	}
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: go-plugin netrpc|grpc SECONDS DEPTH:SIZE...")
		os.Exit(2)
	}
	if err := host(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
