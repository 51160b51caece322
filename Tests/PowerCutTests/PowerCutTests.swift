import PowerCuts
import Testing
