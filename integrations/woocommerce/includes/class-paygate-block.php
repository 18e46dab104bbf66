<?php
/**
 * The payment method of the checkout block: it names the script and what the script shows.
 */

defined( 'ABSPATH' ) || exit;

use Automattic\WooCommerce\Blocks\Payments\Integrations\AbstractPaymentMethodType;

final class Paygate_Block extends AbstractPaymentMethodType {

	/** @var string The same as the id of the gateway. */
	protected $name = 'paygate';

	public function initialize() {}

	public function is_active() {
		return paygate_for_woocommerce()->is_available();
	}

	public function get_payment_method_script_handles() {
		$main = dirname( __DIR__ ) . '/paygate-for-woocommerce.php';
		wp_register_script(
			'paygate-block',
			plugins_url( 'assets/block.js', $main ),
			array( 'wc-blocks-registry', 'wc-settings', 'wp-element', 'wp-html-entities' ),
			get_file_data( $main, array( 'version' => 'Version' ) )['version'],
			true
		);
		return array( 'paygate-block' );
	}

	public function get_payment_method_data() {
		$gateway = paygate_for_woocommerce();
		return array(
			'title'       => $gateway->get_title(),
			'description' => $gateway->get_description(),
			'supports'    => $gateway->supports,
		);
	}
}
