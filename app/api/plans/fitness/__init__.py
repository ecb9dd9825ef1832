"""Fitness plans over HTTP: should the crowd, an expert or a model solve a problem?"""
