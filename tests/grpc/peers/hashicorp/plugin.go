// SPDX-License-Identifier: Apache-2.0

// A plugin of HashiCorp's go-plugin, of the protocol grpc, as its users write them: the service is that of
// go-plugin's own tests (Debian ships its generated code). With the argument "host" the program is a host of
// HashiCorp's: it starts itself as the plugin and measures unary calls.
package main

import (
	"context"
	"fmt"
	"io"
	"io/ioutil"
	"os"
	"os/exec"
	"strconv"
	"time"

	hclog "github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	test "github.com/hashicorp/go-plugin/test/grpc"
	"google.golang.org/grpc"
)

var handshake = plugin.HandshakeConfig{
	ProtocolVersion:  1,
	MagicCookieKey:   "MORTISE_TEST_COOKIE",
	MagicCookieValue: "a plugin of the tests",
}

type server struct{}

func (server) Double(_ context.Context, request *test.TestRequest) (*test.TestResponse, error) {
	return &test.TestResponse{Output: request.Input * 2}, nil
}

func (server) PrintKV(_ context.Context, request *test.PrintKVRequest) (*test.PrintKVResponse, error) {
	fmt.Fprintln(os.Stderr, request.Key)
	return &test.PrintKVResponse{}, nil
}

func (server) Bidirectional(context.Context, *test.BidirectionalRequest) (*test.BidirectionalResponse, error) {
	return nil, fmt.Errorf("there is no broker here")
}

func (server) Stream(stream test.Test_StreamServer) error {
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&test.TestResponse{Output: request.Input}); err != nil {
			return err
		}
	}
}

type service struct{ plugin.NetRPCUnsupportedPlugin }

func (service) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	test.RegisterTestServer(s, server{})
	return nil
}

func (service) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (interface{}, error) {
	return test.NewTestClient(c), nil
}

var plugins = map[string]plugin.Plugin{"test": service{}}

// host prints the nanoseconds of one unary call, for each round.
func host(rounds, calls int) error {
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		Plugins:          plugins,
		Cmd:              exec.Command(os.Args[0]),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.New(&hclog.LoggerOptions{Output: ioutil.Discard}),
	})
	defer client.Kill()
	protocol, err := client.Client()
	if err != nil {
		return err
	}
	raw, err := protocol.Dispense("test")
	if err != nil {
		return err
	}
	caller := raw.(test.TestClient)
	for round := 0; round < rounds; round++ {
		begin := time.Now()
		for i := 0; i < calls; i++ {
			if _, err := caller.Double(context.Background(), &test.TestRequest{Input: int32(i)}); err != nil {
				return err
			}
		}
		fmt.Println(time.Since(begin).Nanoseconds() / int64(calls))
	}
	return nil
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == "host" {
		rounds, _ := strconv.Atoi(os.Args[2])
		calls, _ := strconv.Atoi(os.Args[3])
		if err := host(rounds, calls); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugins,
		GRPCServer:      plugin.DefaultGRPCServer,
	})
}
