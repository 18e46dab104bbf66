// The systemd unit of `paygate install`: it may write its own folder and use the network, nothing
// else. A test checks its score (`systemd-analyze security`).
// https://www.freedesktop.org/software/systemd/man/systemd.exec.html

export const systemdUnit = `[Unit]
Description=paygate, a Bitcoin payment gateway
Wants=network-online.target
After=network-online.target
# Restart without limit: a disk or a port may be free only an hour later.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=/usr/local/bin/paygate serve
EnvironmentFile=/etc/paygate.env
User=paygate
Group=paygate
Restart=always
RestartSec=2
# 2: invalid usage. A restart cannot correct a setting.
RestartPreventExitStatus=2
TimeoutStopSec=15
StateDirectory=paygate
StateDirectoryMode=0700
WorkingDirectory=/var/lib/paygate
UMask=0077
# A leak ends with a restart, not with the machine.
MemoryMax=512M
# A core would hold every key.
LimitCORE=0
TasksMax=64
LimitNOFILE=4096
# Ports 80 and 443.
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
# Not MemoryDenyWriteExecute: JavaScript is compiled to machine code while it runs.
LockPersonality=yes
NoNewPrivileges=yes
PrivateDevices=yes
PrivateMounts=yes
PrivateTmp=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources

[Install]
WantedBy=multi-user.target
`;
