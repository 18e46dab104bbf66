// The public key of releases, in the form of minisign: its base64 line. `paygate update` accepts no
// other. The owner of a repository puts their own key here: docs/releases.md. The private half of
// this placeholder was never stored, so it verifies nothing.

export const releaseKey = 'RWSJS92B47kbdQ98LTBlW9zV6GZLzh/KGTZebek5zXLIWSCR5VSROMYf';
