<?php
/**
 * The plugin is deleted: its key and secret leave the database. Orders and their notes stay.
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

delete_option( 'woocommerce_paygate_settings' );
delete_option( 'paygate_last_webhook' );
