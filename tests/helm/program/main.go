// Helm's commands in a module of ours, so that go.mod and go.sum pin what it is built from.
package main

import (
	"log"
	"os"

	helm "helm.sh/helm/v4/pkg/cmd"
)

func main() {
	root, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err != nil {
		log.Fatal(err)
	}
	if root.Execute() != nil { // which it has told
		os.Exit(1)
	}
}
