// Command lnd is the Lightning node of the end-to-end tests.
package main

import (
	"fmt"
	"os"

	"github.com/lightningnetwork/lnd"
	"github.com/lightningnetwork/lnd/signal"
)

func main() {
	interceptor, err := signal.Intercept()
	if err == nil {
		var config *lnd.Config
		if config, err = lnd.LoadConfig(interceptor); err == nil {
			implementation := config.ImplementationConfig(interceptor)
			err = lnd.Main(config, lnd.ListenerCfg{}, implementation, interceptor)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
