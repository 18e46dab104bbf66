<?php
/**
 * Plugin Name: paygate for WooCommerce
 * Description: Bitcoin payments by your own paygate. The customer pays on paygate's page; signed webhooks move the order on.
 * Version: 0.1.0
 * Requires at least: 5.9
 * Requires PHP: 7.4
 * Requires Plugins: woocommerce
 * WC requires at least: 7.1
 * WC tested up to: 10.4
 * License: GPL-2.0-or-later
 * License URI: https://www.gnu.org/licenses/gpl-2.0.html
 * Text Domain: paygate-for-woocommerce
 * Update URI: false
 */

// Registers the gateway, its webhook route and its checkout block. `Update URI: false` makes
// WordPress ask nobody for updates of this plugin, so no stranger's plugin can replace it.

defined( 'ABSPATH' ) || exit;

/** Returns the one gateway object, which WooCommerce and the hooks below share. */
function paygate_for_woocommerce(): WC_Gateway_Paygate {
	static $gateway = null;
	if ( null === $gateway ) {
		$gateway = new WC_Gateway_Paygate();
	}
	return $gateway;
}

add_action(
	'before_woocommerce_init',
	function () {
		if ( class_exists( 'Automattic\WooCommerce\Utilities\FeaturesUtil' ) ) {
			foreach ( array( 'custom_order_tables', 'cart_checkout_blocks' ) as $feature ) {
				Automattic\WooCommerce\Utilities\FeaturesUtil::declare_compatibility( $feature, __FILE__, true );
			}
		}
	}
);

add_action(
	'plugins_loaded',
	function () {
		// Without WooCommerce the webhook route is missing: paygate gets 404 and sends again.
		if ( ! class_exists( 'WC_Payment_Gateway' ) ) {
			return;
		}
		require_once __DIR__ . '/includes/class-paygate-api.php';
		require_once __DIR__ . '/includes/class-paygate-order.php';
		require_once __DIR__ . '/includes/class-wc-gateway-paygate.php';

		add_filter(
			'woocommerce_payment_gateways',
			function ( $gateways ) {
				$gateways[] = paygate_for_woocommerce();
				return $gateways;
			}
		);
		add_action(
			'rest_api_init',
			function () {
				register_rest_route(
					'paygate/v1',
					'/webhook',
					array(
						'methods'             => 'POST',
						'callback'            => array( paygate_for_woocommerce(), 'webhook' ),
						// The signature is the permission.
						'permission_callback' => '__return_true',
					)
				);
			}
		);
		add_action(
			'woocommerce_order_status_cancelled',
			function ( $order_id ) {
				paygate_for_woocommerce()->cancel_at_paygate( (int) $order_id );
			}
		);
		add_filter(
			'woocommerce_cancel_unpaid_order',
			function ( $cancel, $order ) {
				return paygate_for_woocommerce()->may_cancel_unpaid( $cancel, $order );
			},
			10,
			2
		);
		add_filter(
			'woocommerce_order_actions',
			function ( $actions ) {
				$actions['paygate_refresh'] = __( 'Ask paygate for the payment', 'paygate-for-woocommerce' );
				return $actions;
			}
		);
		add_action(
			'woocommerce_order_action_paygate_refresh',
			function ( $order ) {
				paygate_for_woocommerce()->refresh_by_hand( $order );
			}
		);
	}
);

add_action(
	'woocommerce_blocks_payment_method_type_registration',
	function ( $registry ) {
		require_once __DIR__ . '/includes/class-paygate-block.php';
		$registry->register( new Paygate_Block() );
	}
);

add_filter(
	'plugin_action_links_' . plugin_basename( __FILE__ ),
	function ( $links ) {
		$url  = admin_url( 'admin.php?page=wc-settings&tab=checkout&section=paygate' );
		$link = '<a href="' . esc_url( $url ) . '">' . esc_html__( 'Settings', 'paygate-for-woocommerce' ) . '</a>';
		return array_merge( array( $link ), $links );
	}
);
