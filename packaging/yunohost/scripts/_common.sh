#!/bin/bash
# What several scripts of the package do. The variables are settings of the app, which YunoHost sets.
# shellcheck disable=SC2154,SC2034

# The snapshot of a backup, in a folder that paygate's user can write.
snapshot="$data_dir/snapshot.db"

add_configuration() {
    electrum="${electrum:-}"
    ynh_config_add --template="paygate.env" --destination="$install_dir/paygate.env"
    ynh_config_add_systemd
    yunohost service add "$app" --description="Bitcoin payment gateway"
}

start_paygate() {
    ynh_systemctl --service="$app" --action="start" --log_path="systemd" --wait_until="paygate is up" --timeout=120
    # It ends at once for a weak password or a wrong setting; the journal has the reason.
    ynh_exec_as_app "$install_dir/paygate" health --listen "127.0.0.1:$port"
}
