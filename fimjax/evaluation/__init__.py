"""How good is a forecaster, against what a practitioner would use instead?"""
