// The official Go SDK through its low-level AddTool: nothing but what every server of it pays.
// Serves the tools of the JSON file it is given; every call adds two numbers.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func add(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var numbers struct{ A, B json.Number }
	if err := json.Unmarshal(request.Params.Arguments, &numbers); err != nil {
		return nil, err
	}
	a, err := numbers.A.Int64()
	if err != nil {
		return nil, err
	}
	b, err := numbers.B.Int64()
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%d + %d = %d", a, b, a+b)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
}

func main() {
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var tools []*mcp.Tool
	if err := json.Unmarshal(file, &tools); err != nil {
		log.Fatal(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil)
	for _, tool := range tools {
		server.AddTool(tool, add)
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
